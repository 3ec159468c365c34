import {
  type Agent,
  completed,
  reply,
  type ServeAgentsOptions,
  type ServedAgentOptions,
  serve,
  working,
} from "trivium";
import { apiKey } from "trivium/auth";
import { describe, expect, it } from "vitest";
import { Client } from "../../../src/client/node.js";
import { postJson } from "../../support/http-agent.js";

// Limits beside `agents` count the calls of all agents together; those of an agent hold besides.

const card = (name: string) => ({
  name,
  description: `The agent ${name}`,
  version: "1.0.0",
  skills: [{ id: `${name}-skill`, name, description: name, tags: ["test"] }],
});

const one = (name: string, more: Partial<ServedAgentOptions> = {}): ServedAgentOptions => {
  return { card: card(name), agent: async () => reply(name), ...more };
};

function serveAll(options: Omit<ServeAgentsOptions, "agents"> & Partial<Pick<ServeAgentsOptions, "agents">>) {
  return serve({
    port: 0,
    drainMs: 0,
    logger: false,
    authenticate: ({ header }) => ({ owner: header("x-user") ?? "ann" }),
    agents: { "/weather": one("weather"), "/travel": one("travel") },
    ...options,
  });
}

let messages = 0;

function send({ url }: { readonly url: string }, path: string, headers = {}, more = {}) {
  const message = { messageId: `m${++messages}`, role: "ROLE_USER", parts: [{ text: "go" }], ...more };
  const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
  return postJson(`${url}${path}/json-rpc`, body, { "A2A-Version": "1.0", ...headers });
}

describe("a limit of a server of several agents", () => {
  it.each(["owner", "tenant", "address", "all"] as const)(
    "a limit of a server of several agents counts the calls of all agents per %s",
    async (who) => {
      await using server = await serveAll({ rate: { [who]: { requests: "3/day" } } });
      const paths = ["/weather", "/travel", "/weather", "/travel", "/weather"];
      const answers = [];
      for (const path of paths) answers.push(await send(server, path));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
      const limit = `server.rate.${who}.requests`;
      expect(answers[3]?.text).toContain(`the limit is 3/day (${limit})`);
      expect(answers[0]?.headers["ratelimit"]).toContain(`"server.${who}.requests";r=2;t=`);
      expect(answers[1]?.headers["ratelimit"]).toContain(`"server.${who}.requests";r=1;t=`);
    },
  );

  it("a limit of a server counts the calls that gRPC brings to agents by their names", async () => {
    const ofSends = { operations: { sendMessage: { owner: { requests: "3/day" } } } } as const;
    await using server = await serveAll({ rate: ofSends });
    const options = { prefer: ["GRPC"], retry: false, grpcTls: false } as const;
    await using weather = await Client.connect(`${server.url}/weather`, options);
    await using travel = await Client.connect(`${server.url}/travel`, options);
    await weather.send("go");
    await travel.send("go");
    await weather.send("go");
    const limit = "server.rate.operations.sendMessage.owner.requests";
    await expect(travel.send("go")).rejects.toMatchObject({ code: "resourceExhausted", metadata: { limit } });
  });

  it("a limit of a server refuses an address before authentication, also where gRPC names the agent", async () => {
    let checked = 0;
    await using server = await serveAll({
      rate: { address: { requests: "6/day" } },
      agents: { "/weather": one("weather", { rate: { address: { requests: "5/day" } } }), "/travel": one("travel") },
      authenticate: () => ({ owner: `ann${++checked}` }),
    });
    const options = { prefer: ["GRPC"], retry: false, grpcTls: false } as const;
    await using weather = await Client.connect(`${server.url}/weather`, options);
    await using travel = await Client.connect(`${server.url}/travel`, options);
    const refusedBy = (limit: string) => ({ code: "resourceExhausted", metadata: { limit } });
    for (let count = 0; count < 5; count++) await weather.send("go");
    await expect(weather.send("go")).rejects.toMatchObject(refusedBy("rate.address.requests"));
    const before = checked;
    await expect(travel.send("go")).rejects.toThrow("6/day (server.rate.address.requests)");
    await expect(weather.send("go")).rejects.toMatchObject(refusedBy("server.rate.address.requests"));
    expect(checked).toBe(before);
    const list = await send(server, "/travel");
    expect(list.status).toBe(429);
  });

  it("a limit of a server holds beside an agent's own, and neither counts a call that one refuses", async () => {
    const own = { owner: { requests: "1/day" } } as const;
    const agents = { "/weather": one("weather", { rate: own }), "/travel": one("travel") };
    await using server = await serveAll({ rate: { owner: { requests: "4/day" } }, agents });
    const first = await send(server, "/weather");
    expect(first.headers["ratelimit-policy"]).toBe('"server.owner.requests";q=4;w=86400, "owner.requests";q=1;w=86400');
    for (let call = 0; call < 3; call++)
      expect((await send(server, "/weather")).text).toContain("(rate.owner.requests)");
    const rest = [];
    for (let call = 0; call < 4; call++) rest.push((await send(server, "/travel")).status);
    expect(rest).toEqual([200, 200, 200, 429]);
    expect((await send(server, "/weather", { "x-user": "bob" })).status).toBe(200);
  });

  it("a limit of a server keeps what was used when an agent is replaced, and holds for one that is added", async () => {
    await using server = await serveAll({ rate: { all: { requests: "3/day" } } });
    await send(server, "/weather");
    await send(server, "/travel");
    await server.agents.set("/weather", one("weather"));
    await server.agents.set("/new", one("new"));
    const answers = [await send(server, "/weather"), await send(server, "/new"), await send(server, "/weather")];
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 429]);
  });

  it("a limit of a server counts callers of an agent's own authentication apart from its own", async () => {
    const keys = { key: apiKey({ in: "header", name: "x-key", verify: (key) => (key === "k" ? "ann" : undefined) }) };
    const agents = { "/weather": one("weather"), "/travel": one("travel", { auth: { schemes: keys } }) };
    await using server = await serveAll({ rate: { owner: { requests: "1/day" } }, agents });
    const key = { "x-key": "k" };
    const answers = [
      await send(server, "/weather"),
      await send(server, "/travel", key),
      await send(server, "/weather"),
      await send(server, "/travel", key),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
  });

  it("a limit of a server is charged by the turns of all agents, which learn what is left", async () => {
    const left: number[] = [];
    const charges: Agent = async ({ charge }) => {
      left.push((await charge({ tokens: 40 })).left);
      return reply("done");
    };
    const agents = {
      "/weather": one("weather", { agent: charges }),
      "/travel": one("travel", { agent: charges, rate: { owner: { tokens: "50/day" } } }),
    };
    await using server = await serveAll({ rate: { owner: { tokens: "100/day" } }, agents });
    await send(server, "/weather");
    await send(server, "/travel");
    await send(server, "/travel");
    expect(left).toEqual([60, 10, -20].map((each) => Math.max(0, each)));
    expect((await send(server, "/weather")).text).toContain("(server.rate.owner.tokens)");
  });

  it("a limit of a server limits a skill that one agent has, and refuses the start for one that none has", async () => {
    const limited = { skills: { "travel-skill": { all: { requests: "1/day" } } } } as const;
    await using server = await serveAll({ rate: limited });
    const named = { metadata: { skillId: "travel-skill" } };
    expect((await send(server, "/travel", {}, named)).status).toBe(200);
    expect((await send(server, "/travel", {}, named)).text).toContain("(server.rate.skills.travel-skill.all.requests)");
    expect((await send(server, "/weather")).status).toBe(200);
    const wrong = serveAll({ rate: { skills: { "travel-skil": { all: { requests: "1/day" } } } } });
    await expect(wrong).rejects.toThrow(
      'rate.skills.travel-skil is not a skill of the card: did you mean "travel-skill"?',
    );
  });
});

describe("a limit of turns and streams of a server of several agents", () => {
  it("a limit of turns refuses those of other agents too, and starts those that wait after it", async () => {
    const held = Promise.withResolvers<void>();
    const turnStart = Promise.withResolvers<void>();
    const slow: Agent = async function* () {
      yield working();
      turnStart.resolve();
      await held.promise;
      yield completed();
    };
    const agents = {
      "/slow": one("slow", { agent: slow }),
      "/waits": one("waits", { limits: { turnWaitMs: 600_000 } }),
      "/refuses": one("refuses", { limits: { turnWaitMs: 0 } }),
    };
    await using server = await serveAll({ rate: { all: { turns: 1 } }, agents });
    const first = send(server, "/slow");
    await turnStart.promise;
    const waiting = send(server, "/waits");
    expect((await send(server, "/refuses")).text).toContain("(server.rate.all.turns)");
    held.resolve();
    expect([(await first).status, (await waiting).status]).toEqual([200, 200]);
    expect((await send(server, "/refuses")).status).toBe(200);
  });

  it("a limit of streams counts those of all agents", async () => {
    const held = Promise.withResolvers<void>();
    const slow: Agent = async function* () {
      yield working();
      await held.promise;
    };
    const agents = { "/weather": one("weather", { agent: slow }), "/travel": one("travel", { agent: slow }) };
    await using server = await serveAll({ rate: { owner: { streams: 1 } }, agents });
    await using weather = await Client.connect(`${server.url}/weather`, { retry: false });
    await using travel = await Client.connect(`${server.url}/travel`, { retry: false });
    const events = weather.stream("go")[Symbol.asyncIterator]();
    await events.next();
    const limit = "server.rate.owner.streams";
    await expect(travel.stream("go").answer).rejects.toMatchObject({ code: "resourceExhausted", metadata: { limit } });
    held.resolve();
    while ((await events.next()).done !== true);
    expect((await travel.stream("go").answer).ok).toBe(true);
  });
});
