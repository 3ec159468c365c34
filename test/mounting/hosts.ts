import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { serve as serveHono } from "@hono/node-server";
import Router from "@koa/router";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import mount from "koa-mount";
import type { MountedAgent } from "trivium";
import { expressAgent } from "trivium/express";
import { fastifyAgent } from "trivium/fastify";
import { honoAgent } from "trivium/hono";

// Real frameworks, each with a port of its own, in which agents are mounted the way the documents say.

/** An app that listens, and its end. */
export interface RunningApp {
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Agents by the path where they are mounted. */
type Mounts = Readonly<Record<string, MountedAgent>>;

export interface HostOptions {
  /** The app parses JSON bodies before the agents see them. */
  readonly parsesBodies?: boolean;
}

/** One way to mount an agent. */
export interface Host {
  readonly name: string;
  /** Whether the agent gets the request that middleware saw, and not a copy. */
  readonly keepsRequest: boolean;
  /** Whether the agent gets the address of the peer: Hono's mount() passes only the request. */
  readonly knowsPeers: boolean;
  /**
   * Starts an app. Before the agents, a middleware of the app refuses the token `bad` with 401 and notes the user of
   * others; behind them, the app answers `GET /menu`.
   */
  start(mounts: Mounts, options?: HostOptions): Promise<RunningApp>;
}

/** What the middleware of each app notes, on the object that `authenticate` gets. */
export interface Noted {
  readonly user?: string;
}

const menu = "the app's own page";
const userOf = (header: string | undefined): string | undefined => header?.replace(/^Bearer /, "");

async function listening(listener: RequestListener): Promise<RunningApp> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type ExpressMount = (app: express.Express, path: string, agent: MountedAgent) => void;

function expressHost(name: string, mountIn: ExpressMount): Host {
  return {
    name,
    keepsRequest: true,
    knowsPeers: true,
    start(mounts, { parsesBodies = false } = {}) {
      const app = express();
      if (parsesBodies) app.use(express.json({ type: ["application/json", "application/a2a+json"] }));
      app.use((req, res, next) => {
        const user = userOf(req.header("authorization"));
        if (user === "bad") {
          res.status(401).send("no");
          return;
        }
        Object.assign(req, { user });
        next();
      });
      for (const [path, agent] of Object.entries(mounts)) mountIn(app, path, agent);
      app.get("/menu", (_req, res) => {
        res.send(menu);
      });
      return listening(app);
    },
  };
}

type KoaMount = (app: Koa, path: string, agent: MountedAgent) => Promise<void>;

function koaHost(name: string, mountIn: KoaMount): Host {
  return {
    name,
    keepsRequest: true,
    knowsPeers: true,
    async start(mounts, { parsesBodies = false } = {}) {
      const app = new Koa();
      app.use(async (ctx, next) => {
        const user = userOf(ctx.get("authorization"));
        if (user === "bad") {
          ctx.status = 401;
          return;
        }
        Object.assign(ctx, { user });
        if (parsesBodies) {
          let text = "";
          for await (const piece of ctx.req) text += piece;
          if (text !== "") Object.assign(ctx.request, { body: JSON.parse(text) });
        }
        await next();
      });
      for (const [path, agent] of Object.entries(mounts)) await mountIn(app, path, agent);
      app.use((ctx) => {
        if (ctx.path === "/menu") ctx.body = menu;
      });
      return listening(app.callback());
    },
  };
}

type HonoMount = (app: Hono, path: string, agent: MountedAgent) => void;

function honoHost(name: string, mountIn: HonoMount, { keepsRequest = true } = {}): Host {
  return {
    name,
    keepsRequest,
    knowsPeers: !name.includes("mount()"),
    async start(mounts) {
      const app = new Hono();
      app.use(async (context, next) => {
        const user = userOf(context.req.header("authorization"));
        if (user === "bad") return context.text("no", 401);
        Object.assign(context, { user });
        Object.assign(context.req.raw, { user });
        await next();
        return undefined;
      });
      for (const [path, agent] of Object.entries(mounts)) mountIn(app, path, agent);
      app.get("/menu", (context) => context.text(menu));
      const { promise, resolve } = Promise.withResolvers<number>();
      const server = serveHono({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port));
      return {
        url: `http://127.0.0.1:${await promise}`,
        async [Symbol.asyncDispose]() {
          if ("closeAllConnections" in server) server.closeAllConnections();
          await new Promise((done) => server.close(done));
        },
      };
    },
  };
}

const fastifyHost: Host = {
  name: "Fastify, fastifyAgent()",
  keepsRequest: true,
  knowsPeers: true,
  // Fastify parses JSON before its handlers in any case.
  async start(mounts) {
    const app = fastify();
    app.decorateRequest("user");
    app.addHook("onRequest", async (request, reply) => {
      const user = userOf(request.headers.authorization);
      if (user === "bad") return reply.code(401).send("no");
      reply.header("x-app", "yes");
      Object.assign(request, { user });
      return undefined;
    });
    for (const [prefix, agent] of Object.entries(mounts)) app.register(fastifyAgent(agent), { prefix });
    app.get("/menu", async () => menu);
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    return { url, [Symbol.asyncDispose]: () => app.close() };
  },
};

/** Every way in which the documents mount an agent in a server of the program. */
export const hosts: readonly Host[] = [
  expressHost("Express, expressAgent()", (app, path, agent) => app.use(path, expressAgent(agent))),
  expressHost("Express, nodeListener() in a router", (app, path, agent) => {
    const router = express.Router();
    router.use(path.slice(path.lastIndexOf("/")), agent.nodeListener());
    app.use(path.slice(0, path.lastIndexOf("/")), router);
  }),
  expressHost("Express, app.all() and basePath", (app, path, agent) => {
    app.all(`${path}/*rest`, agent.nodeListener({ basePath: path }));
  }),
  koaHost("Koa, koa-mount", async (app, path, agent) => {
    app.use(mount(path, await agent.koa()));
  }),
  koaHost("Koa, nested koa-mount", async (app, path, agent) => {
    const [, first, ...rest] = path.split("/");
    app.use(mount(`/${first}`, mount(`/${rest.join("/")}`, await agent.koa())));
  }),
  koaHost("Koa, basePath", async (app, path, agent) => {
    app.use(await agent.koa({ basePath: path }));
  }),
  koaHost("Koa, @koa/router and basePath", async (app, path, agent) => {
    const router = new Router();
    router.all(`${path}{/*rest}`, await agent.koa({ basePath: path }));
    app.use(router.routes());
  }),
  fastifyHost,
  honoHost("Hono, honoAgent()", (app, path, agent) => {
    app.all(`${path}/*`, honoAgent(agent));
  }),
  honoHost("Hono, honoAgent() in an app below another", (app, path, agent) => {
    const [, first, ...rest] = path.split("/");
    const inner = new Hono();
    inner.all(`/${rest.join("/")}/*`, honoAgent(agent));
    app.route(`/${first}`, inner);
  }),
  honoHost(
    "Hono, mount()",
    (app, path, agent) => {
      app.mount(path, agent.fetch());
    },
    { keepsRequest: false },
  ),
  honoHost("Hono, mount() with replaceRequest: false and basePath", (app, path, agent) => {
    app.mount(path, agent.fetch({ basePath: path }), { replaceRequest: false });
  }),
];
