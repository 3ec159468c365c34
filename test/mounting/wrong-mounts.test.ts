import { createServer } from "node:http";
import Router from "@koa/router";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { artifact, createAgent, type MountedAgent } from "trivium";
import { expressAgent } from "trivium/express";
import { fastifyAgent } from "trivium/fastify";
import { honoAgent } from "trivium/hono";
import { nextRoute } from "trivium/next";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { serveHttp } from "../support/http-agent.js";
import { recordingLogger } from "../support/recording-logger.js";

// What an agent says when a framework gives it requests in a way from which it cannot know where it is mounted.

const card = { name: "Lost", description: "Asks for the way", version: "1.0.0" };
const cardPath = "/.well-known/agent-card.json";
const path = "/agents/lost";
const origin = "http://app.example";

let agent: MountedAgent;
let log: ReturnType<typeof recordingLogger>;
beforeEach(async () => {
  log = recordingLogger();
  agent = await createAgent({
    card,
    logger: log.logger,
    async *agent({ text }) {
      yield artifact(text);
    },
  });
});
afterEach(() => agent.close());

const advice = (entry: string): string =>
  `a request for the agent came below "${path}", but it is mounted without a path: mount it with \`${entry}({ basePath: "${path}" })\``;

/** What is answered, and how often the log says so after the request came twice. */
async function saidTo(ask: (path: string) => Promise<Response>, wanted = path + cardPath) {
  const first = await ask(wanted);
  await ask(wanted);
  const text = (await first.text()).trim();
  return { status: first.status, text, logged: log.log.filter(({ message }) => message === text).length };
}

describe("an agent that cannot know where it is mounted", () => {
  it("a wrong mount says that fetch() needs `basePath`, in the answer and once in the log", async () => {
    const handle = agent.fetch();
    const answer = await saidTo((at) => handle(new Request(origin + at)));
    expect(answer).toEqual({ status: 404, text: advice("fetch"), logged: 1 });
  });

  it("a wrong mount says what it needs for every path of its own, and not for others", async () => {
    const handle = agent.fetch();
    const textAt = async (at: string) => (await handle(new Request(origin + at))).text();
    for (const own of ["/json-rpc", "/http-json/tasks", "/.well-known/agent.json"]) {
      expect(await textAt(path + own)).toContain(`basePath: "${path}"`);
    }
    for (const other of ["/agents", "/a/json-rpcs", '/%22/json-rpc"', "/a//json-rpc", `/${"a".repeat(300)}/json-rpc`]) {
      expect(await textAt(other)).toBe("not found\n");
    }
  });

  it("a wrong mount names the path that was given, if it is another one", async () => {
    const answer = await saidTo((at) => agent.fetch({ basePath: "/agent" })(new Request(origin + at)));
    expect(answer.text).toContain(`but it is mounted at "/agent": mount it with \`fetch({ basePath: "${path}" })\``);
  });

  it("a wrong mount says what is needed to Hono's `mount()` with `replaceRequest: false`", async () => {
    const app = new Hono().mount(path, agent.fetch(), { replaceRequest: false });
    expect(await saidTo(async (at) => app.request(origin + at))).toEqual({
      status: 404,
      text: advice("fetch"),
      logged: 1,
    });
  });

  it("a wrong mount says to Hono's `mount()`, where no Node server shows the path, what to use", async () => {
    const app = new Hono().mount(path, agent.fetch());
    expect(await saidTo(async (at) => app.request(origin + at))).toEqual({
      status: 500,
      text: "Hono's mount() cuts the agent's path off the request, so the card cannot name it: use `honoAgent()` of trivium/hono, or give `basePath` to fetch()",
      logged: 1,
    });
    const router = new Hono().mount(path, agent.fetch({ basePath: path }));
    expect(await urlsOf(await router.request(origin + path + cardPath))).toContain(`${origin}${path}/json-rpc`);
    const root = new Hono().mount("/", agent.fetch({ basePath: "" }));
    expect(await urlsOf(await root.request(origin + cardPath))).toContain(`${origin}/json-rpc`);
  });

  it("an agent under Hono's `mount()` believes `publicUrl`", async () => {
    await using outside = await createAgent({ card, agent: async () => undefined, publicUrl: "https://a.example/x" });
    const app = new Hono().mount(path, outside.fetch());
    expect(await urlsOf(await app.request(origin + path + cardPath))).toContain("https://a.example/x/json-rpc");
  });

  it("a wrong mount says in a route of Express that nodeListener() needs `basePath`, not in `use()`", async () => {
    const app = express();
    app.use(agent.nodeListener());
    app.all(`${path}/*rest`, agent.nodeListener());
    await using served = await serveHttp(createServer(app));
    const answer = await saidTo((at) => fetch(served.url + at));
    expect(answer).toEqual({ status: 404, text: advice("nodeListener"), logged: 1 });
    expect(await (await fetch(`${served.url}/menu`)).text()).toContain("Cannot GET /menu");
  });

  it("a wrong mount says in a route of Koa that koa() needs `basePath`, not in `use()`", async () => {
    const app = new Koa();
    app.use(await agent.koa());
    app.use(new Router().all(`${path}/{*rest}`, await agent.koa()).routes());
    app.use((ctx) => {
      ctx.body = "the app";
    });
    await using served = await serveHttp(createServer(app.callback()));
    const answer = await saidTo((at) => fetch(served.url + at));
    expect(answer).toEqual({ status: 404, text: advice("koa"), logged: 1 });
    expect(await (await fetch(`${served.url}/menu`)).text()).toBe("the app");
  });

  it("a wrong mount says to a bare Node server that nodeListener() needs `basePath`", async () => {
    await using served = await serveHttp(createServer(agent.nodeListener()));
    expect(await saidTo((at) => fetch(served.url + at))).toEqual({
      status: 404,
      text: advice("nodeListener"),
      logged: 1,
    });
  });
});

it("the caller is told the cause when the app read a body and kept nothing of it", async () => {
  const app = fastify();
  app.post("/*", (request, reply) => agent.nodeListener()(Object.assign(request.raw, {}), reply.raw));
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const response = await fetch(`${url}/http-json/message:send`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "A2A-Version": "1.0" },
    body: "{}",
  });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({
    error: {
      message: expect.stringContaining(
        "the request body was read before the agent saw it, and nothing of it was kept: mount the agent before the body parser",
      ),
    },
  });
  await app.close();
});

it.each([
  [
    () => agent.nodeListener({ basePath: "agents" }),
    'nodeListener(): basePath must be empty or of the form "/agent", not "agents"',
  ],
  [
    () => agent.fetch({ basePath: "/agents/" }),
    'fetch(): basePath must be empty or of the form "/agent", not "/agents/"',
  ],
  [
    () => agent.koa({ path: "/a" } as object),
    "koa(): path cannot be given: take it out, or use one of basePath, request",
  ],
  [
    () => agent.fetch(new Request(origin) as object),
    "fetch() makes the handler: mount what it returns, `agent.fetch()`, and not the method",
  ],
  [() => agent.koa({ req: {} } as object), "koa() makes the handler: mount what it returns, `agent.koa()`, and not"],
  [() => agent.nodeListener(createServer() as object), "nodeListener(): the options must be an object"],
])("a mount refuses wrong options at once", async (make, message) => {
  await expect((async () => make())()).rejects.toThrow(message);
});

describe("an agent that cannot be created", () => {
  const broken = (): never => {
    throw new Error("the database is away");
  };

  it("an agent that cannot be created is an error of the request, and is tried again with the next one", async () => {
    let tries = 0;
    const source = (): MountedAgent => {
      tries += 1;
      return tries === 1 ? broken() : agent;
    };
    const app = express();
    app.use(path, expressAgent(source));
    app.use(((error, _req, res, _next) => res.status(503).send(String(error))) as express.ErrorRequestHandler);
    await using served = await serveHttp(createServer(app));
    const ask = () => fetch(served.url + path + cardPath);
    expect(await (await ask()).text()).toBe("Error: the database is away");
    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(200);
    expect(tries).toBe(2);
  });

  it("an agent that cannot be created rejects in Hono and Next", async () => {
    const app = new Hono().onError((error, context) => context.text(error.message, 503));
    app.all("/*", honoAgent(broken));
    expect(await (await app.request(cardPath)).text()).toBe("the database is away");
    const { GET } = nextRoute(broken);
    await expect(GET(new Request(origin + cardPath), { params: Promise.resolve({}) })).rejects.toThrow("is away");
  });
});

async function urlsOf(response: Response): Promise<readonly string[]> {
  const { supportedInterfaces } = (await response.json()) as { supportedInterfaces: { url: string }[] };
  return supportedInterfaces.map(({ url }) => url);
}

describe("what frameworks are given in place of an agent", () => {
  const entries: Readonly<Record<string, (agent: never, options?: never) => unknown>> = {
    expressAgent,
    fastifyAgent,
    honoAgent,
    nextRoute,
  };

  it.each(Object.keys(entries))("what is no agent is refused by %s at once", (name) => {
    const mount = entries[name] as (agent: unknown) => unknown;
    const text = `${name}() takes what createAgent() returns, or a function that returns it, not`;
    expect(() => mount({ card, agent: async () => undefined })).toThrow(`${text} an object with card, agent`);
    expect(() => mount(undefined)).toThrow(`${text} undefined`);
    expect(() => mount(agent)).not.toThrow();
  });

  it.each(["expressAgent", "honoAgent", "nextRoute"])(
    "what is given to a framework may have no other options than those of %s",
    (name) => {
      const mount = entries[name] as (agent: unknown, options: unknown) => unknown;
      expect(() => mount(agent, { basepath: "/a" })).toThrow(
        `${name}(): basepath cannot be given: did you mean basePath?`,
      );
    },
  );

  it("a promise of an agent that cannot be created is an error of the app, and no end of the process", async () => {
    const app = express();
    app.use(path, expressAgent(Promise.resolve({ card }) as never));
    const failed: express.ErrorRequestHandler = (error: Error, _req, res, _next) => {
      res.status(500).send(error.message);
    };
    app.use(failed);
    await using server = await serveHttp(createServer(app));
    const response = await fetch(server.url + path + cardPath);
    expect(await response.text()).toBe(
      "expressAgent() takes what createAgent() returns, or a function that returns it, not an object with card",
    );
  });
});
