import { artifact, completed, serve } from "trivium";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { instruments } from "../../src/telemetry/instruments.js";
import { cardOf, interfaceAt } from "../client/support/cards.js";
import { throughPauses } from "../client/support/pauses.js";
import { result, rpcServer, status } from "../client/support/rpc-server.js";
import { breakingProxy } from "../support/breaking-proxy.js";
import { type MetricValue, type StartedMetrics, startMetrics } from "../support/metric-values.js";
import { errorOf } from "../support/say.js";
import { createVirtualClock } from "../support/virtual-clock.js";

let measured: StartedMetrics;
beforeAll(() => {
  measured = startMetrics();
});
afterAll(() => measured[Symbol.asyncDispose]());

const method = (name: string): string => `lf.a2a.v1.A2AService/${name}`;
const names = [
  "rpc.client.call.duration",
  "trivium.client.retries",
  "trivium.client.fallbacks",
  "trivium.client.resumes",
];
let before: ReadonlyMap<string, number>;
const keyOf = (name: string, { attributes }: MetricValue): string => `${name} ${JSON.stringify(attributes)}`;

/** What the client has measured since the test began. */
async function news(): Promise<Readonly<Record<string, readonly Omit<MetricValue, "sum">[]>>> {
  const entries = names.map(async (name) => {
    const values = await measured.of(name);
    const more = values.map((each) => ({
      attributes: each.attributes,
      value: each.value - (before.get(keyOf(name, each)) ?? 0),
    }));
    return [name.split(".").at(2), more.filter(({ value }) => value > 0)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

beforeEach(async () => {
  const all = await Promise.all(names.map(async (name) => ({ name, values: await measured.of(name) })));
  before = new Map(all.flatMap(({ name, values }) => values.map((each) => [keyOf(name, each), each.value] as const)));
});

const task = { id: "x", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } };
const spoken = { "a2a.protocol.binding": "JSONRPC", "a2a.protocol.version": "1.0" };

describe("the metrics of a client", () => {
  it("the metrics of a client count each call once, with its retries, its interface and how it ended", async () => {
    await using server = await rpcServer(status(503), status(503), result(task));
    const clock = createVirtualClock();
    await using client = await Client.connect(server.card, { clock, allowPrivate: true });
    const read = client.getTask({ id: "x" });
    await throughPauses(clock, read);
    await read;
    const { port } = new URL(server.url);
    const call = {
      ...{ "rpc.system.name": "jsonrpc", "rpc.method": method("GetTask"), ...spoken },
      ...{ "server.address": "127.0.0.1", "server.port": Number(port) },
    };
    expect(await news()).toEqual({
      call: [{ attributes: call, value: 1 }],
      retries: [{ attributes: { "rpc.method": method("GetTask") }, value: 2 }],
      fallbacks: [],
      resumes: [],
    });
    const durations = await measured.of("rpc.client.call.duration");
    expect(durations.find(({ attributes }) => attributes["server.port"] === Number(port))?.sum).toBeGreaterThan(0);
  });

  it("the metrics of a client count the retries of a call that waits for its agent", async () => {
    const gone = await rpcServer(result(task));
    await gone[Symbol.asyncDispose]();
    const clock = createVirtualClock();
    await using client = await Client.connect(gone.card, { clock, allowPrivate: true });
    const outcome = errorOf(client.send("hello"));
    const pauses = await throughPauses(clock, outcome);
    expect(pauses.length).toBeGreaterThan(3);
    expect((await news())["retries"]).toEqual([
      { attributes: { "rpc.method": method("SendMessage") }, value: pauses.length },
    ]);
  });

  it("the metrics of a client have the kind of an error and its code in the form of the binding", async () => {
    await using server = await serve({
      ...{ card: { name: "n", description: "d", version: "1" }, port: 0, logger: false },
      agent: async () => completed(),
    });
    await using client = await Client.connect(server.url, { retry: false });
    await errorOf(client.getTask({ id: "none" }));
    const { call } = await news();
    const failed = {
      "rpc.response.status_code": "-32001",
      "error.type": "taskNotFound",
      "rpc.method": method("GetTask"),
    };
    expect(call).toEqual([{ attributes: expect.objectContaining(failed), value: 1 }]);
  });

  it("the metrics of a client have no attribute that differs for each call that fails alike", async () => {
    await using server = await serve({
      ...{ card: { name: "n", description: "d", version: "1" }, port: 0, logger: false },
      agent: async () => completed(),
      interceptors: [
        async () => {
          throw new RangeError("secret");
        },
      ],
    });
    await using client = await Client.connect(server.url, { retry: false });
    const references = new Set<unknown>();
    for (let index = 0; index < 3; index++) {
      references.add((await errorOf(client.getTask({ id: "x" }))).metadata["reference"]);
    }
    expect(references.size).toBe(3);
    const { call = [] } = await news();
    expect(call.map(({ value }) => value)).toEqual([3]);
    const named: readonly string[] = instruments.clientCall.attributes;
    expect(Object.keys(call[0]?.attributes ?? {}).filter((name) => !named.includes(name))).toEqual([]);
  });

  it("the metrics of a client count a change to another interface, by the one that is used from then on", async () => {
    await using first = await rpcServer(result(task));
    await using second = await rpcServer(result(task));
    const card = cardOf([interfaceAt("JSONRPC", first.url), interfaceAt("JSONRPC", second.url)]);
    await using client = await Client.connect(card, { allowPrivate: true, retry: false });
    await client.getTask({ id: "x" });
    await first[Symbol.asyncDispose]();
    await client.getTask({ id: "x" });
    const { call, retries, fallbacks } = await news();
    expect(fallbacks).toEqual([{ attributes: { "rpc.method": method("GetTask"), ...spoken }, value: 1 }]);
    expect(call?.map(({ attributes, value }) => [attributes["server.port"], value])).toEqual([
      [Number(new URL(first.url).port), 1],
      [Number(new URL(second.url).port), 1],
    ]);
    expect(retries).toEqual([]);
  });

  it("the metrics of a client count a stream that is resumed as one call", async () => {
    const gate = Promise.withResolvers<void>();
    await using server = await serve({
      ...{ card: { name: "n", description: "d", version: "1" }, port: 0, logger: false },
      async *agent() {
        yield artifact("one", { artifactId: "a" });
        await gate.promise;
        yield artifact("two", { artifactId: "a", append: true });
        yield completed();
      },
    });
    await using proxy = await breakingProxy(server.port);
    await using client = await Client.connect(proxy.url);
    const stream = client.stream("go");
    for await (const delta of stream.text) {
      if (delta !== "one") continue;
      proxy.breakAll();
      gate.resolve();
    }
    await stream.answer;
    const { call, resumes } = await news();
    expect(resumes).toEqual([{ attributes: { "rpc.method": method("SendStreamingMessage") }, value: 1 }]);
    const streams = call?.filter(({ attributes }) => attributes["rpc.method"] === method("SendStreamingMessage"));
    expect(streams).toEqual([{ attributes: expect.objectContaining(spoken), value: 1 }]);
  });
});
