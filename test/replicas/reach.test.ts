import { type Agent, artifact, completed, inputRequired, working } from "trivium";
import { describe, expect, it } from "vitest";
import { idempotentSendExtension } from "../../src/protocol/extensions.js";
import { itemsOf } from "../support/items.js";
import { historyOf, openStream, readUntil, requestOf, say, stateOf, taskOf, textIn } from "../support/say.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { type Replicas, replicaCount, serveReplicas } from "./replicas.js";

// A task runs on the server that got its first message, and later calls may reach another one. Every pair of servers is
// tried, each through its own operations without a proxy.

const card = { name: "Replicated", description: "Is served several times", version: "1" };
const servers = Array.from({ length: replicaCount }, (_, at) => at);
const pairs = servers.flatMap((holder) => servers.filter((at) => at !== holder).map((other) => ({ holder, other })));

const ways = [
  // A stopped clock, so that no poll ever comes.
  { by: "hints alone", hints: true, options: () => ({ clock: createVirtualClock() }) },
  { by: "the poll alone", hints: false, options: () => ({ limits: { pollMs: 50 } }) },
];

describe.each(ways)("by $by", ({ hints, options }) => {
  const start = (agent: Agent): Promise<Replicas> =>
    serveReplicas({ card, port: 0, drainMs: 0, hints, agent, ...options() });

  it.each(pairs)("server $other streams a turn of server $holder live, each event once", async (pair) => {
    const gate = Promise.withResolvers<void>();
    await using replicas = await start(async function* () {
      yield working();
      await gate.promise;
      for (let index = 0; index < 20; index++) yield artifact(`${index}`, { artifactId: "x", append: index > 0 });
    });
    const { here, there } = at(replicas, pair);
    const own = await openStream(here.sendStreamingMessage(say("go"), {}));
    await readUntil(own.iterator, (line) => line === "status WORKING");
    const { id } = taskOf(own.firstItem.response);
    const followed = await openStream(there.subscribeToTask(requestOf("subscribeToTask", { id }), {}));
    expect(stateOf(taskOf(followed.firstItem.response))).toBe("WORKING");
    gate.resolve();
    const shown = await own.readRest();
    expect(shown).toHaveLength(21);
    expect(await followed.readRest()).toEqual(shown);
    expect(stateOf(await there.getTask(requestOf("getTask", { id }), {}))).toBe("COMPLETED");
  });

  it.each(pairs)("an agent of server $holder that asks gets the answer that reaches server $other", async (pair) => {
    let turns = 0;
    await using replicas = await start(async function* ({ ask }) {
      turns++;
      const { parts } = await ask(inputRequired("how much?"));
      yield completed(`so ${textIn(parts)}`);
    });
    const { here, there } = at(replicas, pair);
    const { id: taskId } = taskOf(await here.sendMessage(say("go"), {}));
    const task = taskOf(await there.sendMessage(say("much", { taskId }), {}));
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual(["COMPLETED", "so much"]);
    expect(historyOf(task)).toEqual(["user: go", "agent: how much?", "user: much"]);
    expect(turns).toBe(1);
  });

  it.each(pairs)("server $other continues a task that server $holder left waiting for input", async (pair) => {
    await using replicas = await start(async ({ task }) => (task === undefined ? inputRequired("more?") : completed()));
    const { here, there } = at(replicas, pair);
    const { id: taskId } = taskOf(await here.sendMessage(say("go"), {}));
    const followed = await openStream(here.subscribeToTask(requestOf("subscribeToTask", { id: taskId }), {}));
    expect(stateOf(taskOf(await there.sendMessage(say("more", { taskId }), {})))).toBe("COMPLETED");
    expect(await followed.readRest()).toEqual(["status COMPLETED"]);
  });

  it.each(pairs)("a cancel that reaches server $other stops the agent at server $holder", async (pair) => {
    const reasons: unknown[] = [];
    await using replicas = await start(async function* ({ signal }) {
      yield working();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      reasons.push(signal.reason);
    });
    const { here, there } = at(replicas, pair);
    const own = await openStream(here.sendStreamingMessage(say("go"), {}));
    await readUntil(own.iterator, (line) => line === "status WORKING");
    const { id } = taskOf(own.firstItem.response);
    expect(stateOf(await there.cancelTask(requestOf("cancelTask", { id }), {}))).toBe("CANCELED");
    expect(await own.readRest()).toEqual(["status CANCELED"]);
    expect(reasons).toMatchObject([{ kind: "Canceled" }]);
  });

  it.each(pairs)("a send to server $holder retried at server $other attaches to it", async (pair) => {
    const gate = Promise.withResolvers<void>();
    let turns = 0;
    await using replicas = await start(async function* () {
      turns++;
      yield working();
      await gate.promise;
      yield artifact("a", { artifactId: "x" });
    });
    const { here, there } = at(replicas, pair);
    const once = { extensions: [idempotentSendExtension] };
    const request = say("go");
    const own = await openStream(here.sendStreamingMessage(request, once));
    const again = await openStream(there.sendStreamingMessage(request, once));
    gate.resolve();
    const { id } = taskOf(own.firstItem.response);
    expect(taskOf(again.firstItem.response).id).toBe(id);
    await own.readRest();
    expect((await again.readRest()).at(-1)).toBe("status COMPLETED");
    expect(taskOf(await there.sendMessage(request, once)).id).toBe(id);
    expect(turns).toBe(1);
  });
});

it("a stream of one server resumes at every other one, from any event", async () => {
  await using replicas = await serveReplicas({
    ...{ card, port: 0, drainMs: 0 },
    async *agent() {
      for (let index = 0; index < 5; index++) yield artifact(`${index}`, { artifactId: "x", append: index > 0 });
    },
  });
  const [first, ...others] = replicas.servers.map((server) => server.inProcess());
  const items = first === undefined ? [] : await itemsOf(first.sendStreamingMessage(say("go"), {}));
  const start = items[0];
  if (start === undefined) throw new Error("the stream was empty");
  const { id } = taskOf(start.response);
  for (const other of others) {
    for (const [index, { id: after }] of items.entries()) {
      const rest = await itemsOf(other.subscribeToTask(requestOf("subscribeToTask", { id }), { after }));
      expect(rest).toEqual(items.slice(index + 1));
    }
  }
  expect(items.length).toBeGreaterThan(5);
});

it("without hints, events of another server arrive at the next poll", async () => {
  const clock = createVirtualClock();
  const gate = Promise.withResolvers<void>();
  let reads = 0;
  await using replicas = await serveReplicas({
    ...{ card, port: 0, drainMs: 0, clock, hints: false },
    storeAround: (store) => ({
      ...store,
      async recordsAfter(...position) {
        const page = await store.recordsAfter(...position);
        reads++;
        return page;
      },
    }),
    async *agent() {
      yield working();
      await gate.promise;
      yield artifact("a", { artifactId: "x" });
    },
  });
  const { here, there } = at(replicas, { holder: 0, other: 1 });
  const own = await openStream(here.sendStreamingMessage(say("go"), {}));
  await readUntil(own.iterator, (line) => line === "status WORKING");
  const { id } = taskOf(own.firstItem.response);
  const followed = await openStream(there.subscribeToTask(requestOf("subscribeToTask", { id }), {}));
  const lines: string[] = [];
  const before = reads;
  const reading = followed.readRest().then((rest) => lines.push(...rest));
  // Its reader has polled and found nothing.
  await expect.poll(() => reads).toBeGreaterThan(before);
  gate.resolve();
  await own.readRest();
  // The other server answers from the store, not from the hints it received.
  expect(stateOf(await there.getTask(requestOf("getTask", { id }), {}))).toBe("COMPLETED");
  expect(lines).toEqual([]);
  await clock.advance(1000);
  await reading;
  expect(lines).toEqual(['artifact x "a"', "status COMPLETED"]);
});

it("the proxy gives each connection to the next server", async () => {
  await using replicas = await serveReplicas({ card, port: 0, drainMs: 0, agent: async () => completed() });
  for (const _ of [...servers, ...servers]) {
    const response = await fetch(`${replicas.url}/.well-known/agent-card.json`, { headers: { connection: "close" } });
    expect(response.status).toBe(200);
    await response.body?.cancel();
  }
  expect([...replicas.proxy.countByPort().values()]).toEqual(servers.map(() => 2));
});

/** The operations of two servers. */
function at(replicas: Replicas, { holder, other }: { readonly holder: number; readonly other: number }) {
  const [here, there] = [holder, other].map((place) => replicas.servers[place]?.inProcess());
  if (here === undefined || there === undefined) throw new Error("there are fewer servers");
  return { here, there };
}
