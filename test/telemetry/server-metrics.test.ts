import { metrics } from "@opentelemetry/api";
import { Client, completed, serve, working } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { bindingNames } from "../../src/protocol/bindings.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import { openMeters } from "../../src/telemetry/meters.js";
import { postJson } from "../support/http-agent.js";
import { type MetricValue, type StartedMetrics, startMetrics } from "../support/metric-values.js";
import { hasPostgres, type PostgresServer, startPostgres, startTimeoutMs } from "../support/postgres.js";
import { recordingLogger } from "../support/recording-logger.js";
import { errorOf } from "../support/say.js";
import { createVirtualClock, turnUntil } from "../support/virtual-clock.js";

let measured: StartedMetrics;
beforeAll(() => {
  measured = startMetrics();
});
afterAll(() => measured[Symbol.asyncDispose]());

const cardOf = (name: string) => ({ name, description: "d", version: "1" });
const method = (name: string): string => `lf.a2a.v1.A2AService/${name}`;

/** The values of a metric of one agent. */
async function valuesOf(metric: string, agent: string): Promise<readonly MetricValue[]> {
  return (await measured.of(metric)).filter(({ attributes }) => attributes["gen_ai.agent.name"] === agent);
}

describe("the first message of a client", () => {
  it.each(bindingNames)("the first message of a client is the only call that the agent counts: %s", async (binding) => {
    await using server = await serve({
      ...{ card: cardOf(`First ${binding}`), bindings: bindingNames, port: 0, logger: false },
      agent: async () => completed(),
    });
    await using client = await Client.connect(server.url, { prefer: [binding] });
    await client.send("go");
    const counted = async () =>
      (await valuesOf("rpc.server.call.duration", `First ${binding}`)).map(({ attributes, value }) => [
        attributes["rpc.method"],
        attributes["error.type"],
        value,
      ]);
    await expect.poll(counted).toEqual([[method("SendMessage"), undefined, 1]]);
  });
});

describe("durations", () => {
  it("durations are there with the first collection after the reply, however few they are", async () => {
    await using server = await serve({
      ...{ card: cardOf("Few"), port: 0, logger: false },
      async *agent() {
        yield working();
        yield completed();
      },
    });
    await using client = await Client.connect(server.url);
    for (let count = 1; count <= 3; count += 1) {
      await client.send("go");
      const counted = async (name: string) => (await valuesOf(name, "Few")).map(({ value }) => value);
      await expect.poll(() => counted("rpc.server.call.duration")).toEqual([count]);
      await expect.poll(() => counted("gen_ai.invoke_agent.duration")).toEqual([count]);
      expect(await counted("trivium.turn.time_to_first_event")).toEqual([count]);
    }
  });

  it("durations are all there when there are more than wait together", async () => {
    await using server = await serve({
      ...{ card: cardOf("Many"), port: 0, logger: false },
      agent: async () => completed(),
    });
    await using client = await Client.connect(server.url);
    const sends = 300;
    for (let index = 0; index < sends; index += 50)
      await Promise.all(Array.from({ length: 50 }, () => client.send("go")));
    await expect.poll(async () => (await valuesOf("rpc.server.call.duration", "Many")).at(0)?.value).toBe(sends);
    const scopes = (await valuesOf("rpc.server.call.duration", "Many")).map(({ scope }) => scope);
    expect(scopes).toEqual([`trivium ${packageJson.version}`]);
    expect((await valuesOf("gen_ai.invoke_agent.duration", "Many")).map(({ value }) => value)).toEqual([sends]);
  });
});

describe("gauges of two servers of one agent", () => {
  it.each([
    ["trivium.server.streams", "streams", 7],
    ["trivium.server.stream.lag", "streamLag", 4],
  ] as const)("gauges of two servers of one agent are one value: %s", async (metric, name, value) => {
    const meters = openMeters(metrics.getMeterProvider());
    const attributes = { "gen_ai.agent.name": "Pair" };
    const stops = [4, 3].map((each) => meters.observe(name, () => [{ attributes, value: each }]));
    expect((await valuesOf(metric, "Pair")).map((each) => each.value)).toEqual([value]);
    for (const stop of stops) stop();
  });
});

/** A server on which a round of the event loop takes as long as the test says. */
async function loaded(name: string) {
  const clock = createVirtualClock();
  const { log, logger } = recordingLogger();
  let roundMs = 0;
  const server = await serve({
    ...{ card: cardOf(name), port: 0, drainMs: 0, logger, bindings: bindingNames },
    // The timer of one millisecond fires when a round of the event loop has passed.
    clock: { ...clock, after: (ms, run) => clock.after(ms === 1 ? 1 + roundMs : ms, run) },
    agent: async () => completed(),
  });
  const send = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] } };
  return {
    server,
    log,
    /** Makes rounds of the event loop take this long until they count. Calls once. */
    async slow(ms: number) {
      roundMs = ms;
      await postJson(`${server.url}/json-rpc`, { jsonrpc: "2.0", id: 1, method: "SendMessage", params: send });
      await clock.advance(5 * (251 + ms));
    },
    [Symbol.asyncDispose]: () => turnUntil(clock, server.close()),
  };
}

describe("what an overloaded server refuses", () => {
  it("what an overloaded server refuses is counted by limit and operation over every binding", async () => {
    await using here = await loaded("Overloaded");
    await here.slow(1500);
    for (const binding of bindingNames) {
      const client = await Client.connect(here.server.url, { prefer: [binding], retry: false });
      await errorOf(client.send("go"));
      await errorOf(client.stream("go").answer);
      await client.close();
    }
    const limit = { "trivium.limit": "eventLoopMaxMs", "gen_ai.agent.name": "Overloaded" };
    const counted = await valuesOf("trivium.server.refused", "Overloaded");
    expect(counted.map(({ attributes }) => attributes)).toEqual([
      { ...limit, "rpc.method": method("SendMessage") },
      { ...limit, "rpc.method": method("SendStreamingMessage") },
    ]);
    for (const { value } of counted) expect(value).toBeGreaterThanOrEqual(bindingNames.length);
    // One more is refused before the rounds are short again.
    await here.slow(0);
    const all = await valuesOf("trivium.server.refused", "Overloaded");
    const refused = all.reduce((sum, { value }) => sum + value, 0);
    const end = here.log.find(({ message }) => message === "the server takes all sends again");
    expect(end?.fields).toMatchObject({ refused });
  });
});

describe.skipIf(!hasPostgres)("commits of PostgreSQL", () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres();
  }, startTimeoutMs);
  afterAll(() => postgres?.[Symbol.asyncDispose]());

  it("commits of PostgreSQL are measured by their duration and their writes", async () => {
    const store = postgresStore({ url: await postgres.createDatabase() });
    const server = await serve({
      ...{ card: cardOf("Kept"), port: 0, logger: false, store },
      async *agent() {
        yield working();
        yield completed("x".repeat(5_000));
      },
    });
    await using client = await Client.connect(server.url);
    const sends = 20;
    await Promise.all(Array.from({ length: sends }, () => client.send("go")));
    await server.close();
    await store.close();
    const ofPostgres = async (name: string) =>
      (await measured.of(name)).find(({ attributes }) => attributes["db.system.name"] === "postgresql");
    const durations = await ofPostgres("trivium.store.flush.duration");
    const writes = await ofPostgres("trivium.store.flush.writes");
    expect(durations?.attributes).toEqual({ "db.system.name": "postgresql" });
    expect(durations?.sum).toBeGreaterThan(0);
    expect(writes?.value).toBe(durations?.value);
    // Each task is written at least once, and writes of several share a commit.
    expect(writes?.sum).toBeGreaterThanOrEqual(sends);
    expect(writes?.value).toBeLessThan(Number(writes?.sum));
  });
});
