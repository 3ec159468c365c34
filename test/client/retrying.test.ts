import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { createRetries } from "../../src/client/retrying.js";
import { A2AError, ConnectionError } from "../../src/protocol/errors.js";
import { TaskSchema } from "../../src/protocol/model.js";
import { serviceOf } from "../support/echo-service.js";
import { createFaultProxy } from "../support/fault-proxy.js";
import { cutAfter } from "../support/fault-schedule.js";
import { grpcAgent } from "../support/grpc-agent.js";
import { itemsOf } from "../support/items.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { allBindings, cardOf, interfaceAt } from "./support/cards.js";
import { countingAgent } from "./support/counting-agent.js";
import { nextPause, throughPauses } from "./support/pauses.js";
import { result, rpcError, rpcServer, silence, status } from "./support/rpc-server.js";

const task = result({ id: "x", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } });
const unavailable = status(503);
const broken = new ConnectionError("cannot reach", { written: false });
const forever = Number.POSITIVE_INFINITY;

describe("the pauses", () => {
  it("the pauses between tries grow to a cap, with random jitter", () => {
    const longest = createRetries({ maxAttempts: 9, budget: 99 }, () => 1);
    const pauses = [2, 3, 4, 5, 6, 7, 8, 9].map((attempt) => longest.pauseBefore(attempt, broken, forever));
    expect(pauses).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    expect(createRetries({}, () => 0.25).pauseBefore(3, broken, forever)).toBe(100);
    expect(createRetries({ firstPauseMs: 10, maxPauseMs: 15 }, () => 1).pauseBefore(3, broken, forever)).toBe(15);
  });

  it("the pauses between tries end with the last try, and with the time of the call", () => {
    const retries = createRetries({ maxAttempts: 3 }, () => 1);
    expect(retries.pauseBefore(4, broken, forever)).toBeUndefined();
    expect(retries.pauseBefore(2, broken, 200)).toBeUndefined();
    expect(retries.pauseBefore(2, broken, 201)).toBe(200);
  });

  it("the pauses between tries use up a budget that calls which get through fill again", () => {
    const retries = createRetries({ budget: 2 }, () => 1);
    // A retry without time left costs nothing.
    expect(retries.pauseBefore(2, broken, 0)).toBeUndefined();
    const pauses = () => [1, 2, 3].map(() => retries.pauseBefore(2, broken, forever));
    expect(pauses()).toEqual([200, 200, undefined]);
    for (let call = 0; call < 9; call++) retries.recordSuccess();
    expect(retries.pauseBefore(2, broken, forever)).toBeUndefined();
    for (let call = 0; call < 1000; call++) retries.recordSuccess();
    expect(pauses()).toEqual([200, 200, undefined]);
  });

  it("the pauses between tries are slightly longer than the agent asks, and give up if it asks too much", () => {
    const named = (retryAfterMs: number) => new A2AError("unavailable", "later", { retryAfterMs });
    const retries = createRetries({}, () => 0.5);
    expect(retries.pauseBefore(2, named(3000), forever)).toBe(3100);
    expect(retries.pauseBefore(2, named(60_000), forever)).toBe(60_100);
    expect(retries.pauseBefore(2, named(60_001), forever)).toBeUndefined();
    expect(createRetries({ maxRetryAfterMs: 10 }).pauseBefore(2, named(11), forever)).toBeUndefined();
  });
});

describe("a read that fails", () => {
  it("a read that fails is retried until it succeeds", async () => {
    await using server = await rpcServer(unavailable, unavailable, task);
    const clock = createVirtualClock();
    await using client = await Client.connect(server.card, { clock, allowPrivate: true });
    const read = client.getTask({ id: "x" });
    const pauses = await throughPauses(clock, read);
    expect(await read).toMatchObject({ id: "x" });
    expect(pauses).toHaveLength(2);
    expect(pauses[0]).toBeLessThanOrEqual(200);
    expect(pauses[1]).toBeLessThanOrEqual(400);
    expect(server.requests).toHaveLength(3);
  });

  it("a read fails after four tries with the last error", async () => {
    await using server = await rpcServer(unavailable);
    const clock = createVirtualClock();
    await using client = await Client.connect(server.card, { clock, allowPrivate: true });
    const read = client.getTask({ id: "x" });
    expect(await throughPauses(clock, read)).toHaveLength(3);
    await expect(read).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("503") });
    expect(server.requests).toHaveLength(4);
  });

  it.each([
    ["false", false],
    ["one try", { maxAttempts: 1 }],
    ["an empty budget", { budget: 0 }],
  ] as const)("a read that fails is not tried again with %s", async (_, retry) => {
    await using server = await rpcServer(unavailable, task);
    await using client = await Client.connect(server.card, { retry, allowPrivate: true });
    await expect(client.getTask({ id: "x" })).rejects.toMatchObject({ code: "unavailable" });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["503", unavailableFor("3"), "unavailable"],
    ["429", status(429, { "retry-after": "3" }), "resourceExhausted"],
  ])("a read that fails waits for the Retry-After of %s", async (_, answer) => {
    await using server = await rpcServer(answer, task);
    const clock = createVirtualClock();
    await using client = await Client.connect(server.card, { clock, allowPrivate: true });
    const read = client.getTask({ id: "x" });
    const [pause = 0] = await throughPauses(clock, read);
    expect(await read).toMatchObject({ id: "x" });
    expect(pause).toBeGreaterThanOrEqual(3000);
    expect(pause).toBeLessThanOrEqual(3200);
  });

  it.each([
    ["429 without Retry-After", status(429), "resourceExhausted"],
    ["a wait of a day", unavailableFor("86400"), "unavailable"],
    ["400", status(400), "unavailable"],
    ["404", status(404), "unavailable"],
    ["an error of the agent", rpcError(-32001), "taskNotFound"],
  ])("a read that fails is not retried after %s", async (_, answer, code) => {
    await using server = await rpcServer(answer, task);
    await using client = await Client.connect(server.card, { clock: createVirtualClock(), allowPrivate: true });
    await expect(client.getTask({ id: "x" })).rejects.toMatchObject({ code });
    expect(server.requests).toHaveLength(1);
  });

  it("a read that fails waits for the RetryInfo of gRPC", async () => {
    let callCount = 0;
    const getTask = async () => {
      if (callCount++ > 0) return create(TaskSchema, { id: "x" });
      throw new A2AError("resourceExhausted", "later", { retryAfterMs: 3000 });
    };
    await using agent = await grpcAgent(serviceOf({ getTask }));
    const clock = createVirtualClock();
    const card = cardOf([interfaceAt("GRPC", `http://${agent.address}`)]);
    await using client = await Client.connect(card, { clock, allowPrivate: true });
    const read = client.getTask({ id: "x" });
    const [pause = 0] = await throughPauses(clock, read);
    expect(await read).toMatchObject({ id: "x" });
    expect(pause).toBeGreaterThanOrEqual(3000);
    expect(callCount).toBe(2);
  });

  it("a read passes the interceptors once, however often it is retried", async () => {
    await using server = await rpcServer(unavailable, task);
    const clock = createVirtualClock();
    let count = 0;
    await using client = await Client.connect(server.card, {
      clock,
      allowPrivate: true,
      interceptors: [
        (call, next) => {
          count++;
          return next(call);
        },
      ],
    });
    const read = client.getTask({ id: "x" });
    await throughPauses(clock, read);
    await read;
    expect([count, server.requests.length]).toEqual([1, 2]);
  });
});

function unavailableFor(seconds: string) {
  return status(503, { "retry-after": seconds });
}

describe("a send that fails", () => {
  it.each(["send", "stream"] as const)("a send that fails is not tried again when it was written: %s", async (call) => {
    await using server = await rpcServer(unavailable, task);
    await using client = await Client.connect(server.card, { clock: createVirtualClock(), allowPrivate: true });
    const outcome = call === "send" ? client.send("go") : itemsOf(client.stream("go"));
    await expect(outcome).rejects.toMatchObject({ code: "unavailable" });
    expect(server.requests).toHaveLength(1);
  });

  it.each(["send", "stream"] as const)(
    "a send that fails is tried again when nothing was written: %s",
    async (call) => {
      await using agent = await countingAgent();
      await using proxy = await createFaultProxy({ target: { port: agent.port }, schedule: [{ kind: "refuse" }] });
      const clock = createVirtualClock();
      const card = cardOf([interfaceAt("JSONRPC", proxy.url())]);
      await using client = await Client.connect(card, { clock, allowPrivate: true });
      const outcome = call === "send" ? client.send("say") : itemsOf(client.stream("say"));
      const pause = await nextPause(clock);
      await proxy.setSchedule([{ kind: "pass" }]);
      await clock.advance(pause);
      await outcome;
      expect(agent.runs).toBe(1);
    },
  );

  const both = allBindings.flatMap((binding) => (["send", "stream"] as const).map((call) => [binding, call] as const));
  it.each(both)(
    "a send that fails is tried again at an agent that knows its messages, which runs once: %s, %s",
    async (binding, call) => {
      await using agent = await countingAgent();
      const before = await Client.connect(agent.url);
      const { capabilities } = before.card;
      await before.close();
      await using proxy = await createFaultProxy({
        target: { port: agent.port },
        schedule: [cutAfter("response", 60, "reset"), { kind: "pass" }],
      });
      const extensions = capabilities?.extensions.map(({ uri }) => ({ uri })) ?? [];
      const card = cardOf([interfaceAt(binding, proxy.url())], { capabilities: { streaming: true, extensions } });
      const clock = createVirtualClock();
      await using client = await Client.connect(card, { clock, allowPrivate: true });
      const outcome = call === "send" ? client.send("go") : itemsOf(client.stream("go"));
      await throughPauses(clock, outcome);
      await outcome;
      expect(proxy.connections).toBe(2);
      expect(agent.runs).toBe(1);
    },
  );

  it("a send requests the extension of idempotent sends only if the agent's card lists it", async () => {
    await using server = await rpcServer(task);
    const uri = "urn:trivium:extension:idempotent-send:v1";
    const listing = { ...server.card, capabilities: { streaming: true, extensions: [{ uri }] } };
    for (const card of [server.card, listing]) {
      await using client = await Client.connect(card, { allowPrivate: true });
      await client.getTask({ id: "x" });
      await client.send("go").catch(() => {});
    }
    expect(server.requests.map(({ headers }) => headers["a2a-extensions"])).toEqual([
      undefined,
      undefined,
      undefined,
      uri,
    ]);
  });
});

describe("a call that is broken off", () => {
  it.each(["before it begins", "while it is under way", "between two tries"])(
    "a call that is broken off ends with the caller's reason: %s",
    async (when) => {
      const breaking = new AbortController();
      const reason = new Error("enough");
      await using server = await rpcServer(when === "between two tries" ? unavailable : silence);
      const clock = createVirtualClock();
      await using client = await Client.connect(server.card, { clock, allowPrivate: true });
      if (when === "before it begins") breaking.abort(reason);
      const read = client.getTask({ id: "x" }, { signal: breaking.signal });
      if (when === "between two tries") await nextPause(clock);
      breaking.abort(reason);
      await expect(read).rejects.toBe(reason);
      expect(clock.pending()).toEqual([]);
    },
  );
});
