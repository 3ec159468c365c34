import { type Agent, type RateOptions, reply, type ServeOptions, type Server, serve } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "../../../src/store/postgres/index.js";
import { postJson } from "../../support/http-agent.js";
import { hasPostgres, type PostgresServer, startPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase } from "../../support/postgres-databases.js";
import { type LogLine, recordingLogger } from "../../support/recording-logger.js";

let postgres: PostgresServer;

interface Scene extends AsyncDisposable {
  readonly servers: readonly [Pick<Server, "url">, Pick<Server, "url">];
  readonly log: readonly LogLine[];
}

const card = { name: "Limited", description: "Is limited", version: "1.0.0" };
const agent: Agent = async ({ charge }) => {
  const { left } = await charge({ tokens: 60 });
  return reply(`left ${left}`);
};

/** Two servers of the same agents on one database. */
async function start(rate: RateOptions, served: object = { card, agent }): Promise<Scene> {
  const { url } = await createStoreDatabase(postgres);
  const { log, logger } = recordingLogger();
  const open = async () => {
    const store = postgresStore({ url, logger: false });
    const server = await serve({
      ...(served as Pick<ServeOptions, "card" | "agent">),
      port: 0,
      drainMs: 0,
      store,
      logger,
      rate,
      authenticate: ({ header }) => ({ owner: header("x-owner") ?? "alice" }),
    });
    return { server, store };
  };
  const [one, other] = [await open(), await open()];
  return {
    servers: [one.server, other.server],
    log,
    async [Symbol.asyncDispose]() {
      for (const { server, store } of [one, other]) {
        await server.close();
        await store.close();
      }
    },
  };
}

let messages = 0;

function call({ url }: Pick<Server, "url">, method: string, owner: string) {
  const message = { messageId: `m${++messages}`, role: "ROLE_USER", parts: [{ text: "go" }] };
  const params = method === "SendMessage" ? { message } : {};
  const headers = { "A2A-Version": "1.0", "x-owner": owner };
  return postJson(`${url}/json-rpc`, { jsonrpc: "2.0", id: 1, method, params }, headers);
}

describe.skipIf(!hasPostgres)("two servers on one PostgreSQL", () => {
  beforeAll(async () => {
    postgres = await startPostgres();
  }, startTimeoutMs);
  afterAll(() => postgres[Symbol.asyncDispose]());

  it("two servers on one PostgreSQL share the requests of an owner, and the budget that its turns charge", async () => {
    await using scene = await start({ owner: { requests: "5/day", tokens: "100/day" } });
    const [one, other] = scene.servers;
    const statuses: number[] = [];
    for (let index = 0; index < 8; index += 1) {
      statuses.push((await call(index % 2 === 0 ? one : other, "ListTasks", "alice")).status);
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect((await call(one, "SendMessage", "bob")).text).toContain("left 40");
    expect((await call(other, "SendMessage", "bob")).text).toContain("left 0");
    expect((await call(other, "SendMessage", "bob")).text).toContain("rate.owner.tokens");
    // It may still have some of what it drew.
    await call(one, "SendMessage", "bob");
    expect((await call(one, "SendMessage", "bob")).text).toContain("rate.owner.tokens");
  });

  it("two servers on one PostgreSQL share the limits of all agents, whichever is called where", async () => {
    const agents = { "/weather": { card, agent }, "/travel": { card, agent } };
    await using scene = await start({ owner: { requests: "5/day", tokens: "100/day" } }, { agents });
    const [one, other] = scene.servers;
    const at = ({ url }: Pick<Server, "url">, path: string) => ({ url: url + path });
    const calls = [at(one, "/weather"), at(one, "/travel"), at(other, "/weather"), at(other, "/travel")];
    const statuses: number[] = [];
    for (const each of [...calls, ...calls]) statuses.push((await call(each, "ListTasks", "alice")).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect((await call(at(one, "/weather"), "SendMessage", "bob")).text).toContain("left 40");
    expect((await call(at(other, "/travel"), "SendMessage", "bob")).text).toContain("left 0");
    expect((await call(at(other, "/weather"), "SendMessage", "bob")).text).toContain("server.rate.owner.tokens");
  });

  it("two servers limit by their own counts while PostgreSQL is away, and answer what needs none", async () => {
    await using scene = await start({ owner: { requests: "6/day" } });
    const [one, other] = scene.servers;
    expect((await call(one, "GetExtendedAgentCard", "alice")).status).toBe(200);
    await postgres.stop("immediate");
    try {
      const statuses: number[] = [];
      for (let index = 0; index < 14; index += 1) {
        statuses.push((await call(index % 2 === 0 ? one : other, "GetExtendedAgentCard", "alice")).status);
      }
      // There is no extended card, which is an error with HTTP status 200.
      expect(statuses.filter((status) => status === 200)).toHaveLength(5 + 6);
      expect(statuses.filter((status) => status === 429)).toHaveLength(3);
      expect(scene.log.map(({ message }) => message)).toContain(
        "the store does not count callers: each process limits them by itself",
      );
    } finally {
      await postgres.start();
    }
    await expect
      .poll(
        async () => {
          await call(one, "GetExtendedAgentCard", "carol");
          return scene.log.map(({ message }) => message);
        },
        { timeout: 20_000 },
      )
      .toContain("the limits of callers are shared again");
  }, 60_000);
});
