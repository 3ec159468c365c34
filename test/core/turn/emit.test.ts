import { describe, expect, it } from "vitest";
import type { Turn } from "../../../src/core/agent.js";
import { type AgentEvent, artifact, inputRequired, reply, working } from "../../../src/protocol/events.js";
import { contextOf, startHandler } from "../../support/handler.js";
import { heldStore } from "../../support/held-store.js";
import { requestOf, type SayOptions, stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const chunk = (text: string, last = false): AgentEvent =>
  artifact(text, { artifactId: "a", append: true, lastChunk: last });

/** A turn controlled by the test, with a WORKING task, over a store that can be held. */
async function openTurn(limits: { readonly batchMaxEvents?: number; readonly batchMaxBytes?: number } = {}) {
  const clock = createVirtualClock();
  const held = heldStore(clock);
  const start = Promise.withResolvers<Turn>();
  const over = Promise.withResolvers<void>();
  const served = startHandler({
    clock,
    limits,
    store: held.store,
    async agent(turn) {
      await turn.emit(working());
      start.resolve(turn);
      await over.promise;
    },
  });
  const answer = served.send("go");
  const turn = await start.promise;
  return {
    held,
    served,
    turn,
    /** Emits events in order and returns what was accepted. */
    accepted(events: readonly AgentEvent[]): string[] {
      const names: string[] = [];
      void (async () => {
        for (const event of events) {
          await turn.emit(event);
          names.push(
            event.$typeName === "lf.a2a.v1.TaskArtifactUpdateEvent" ? textIn(event.artifact?.parts) : "status",
          );
        }
      })();
      return names;
    },
    /** Ends the turn and returns the task. */
    async end() {
      held.release();
      over.resolve();
      return taskOf(await answer);
    },
    async [Symbol.asyncDispose]() {
      held.release();
      over.resolve();
      await served[Symbol.asyncDispose]();
    },
  };
}

describe("a chunk with append", () => {
  const appended = (artifactId: string, text: string): AgentEvent => artifact(text, { artifactId, append: true });

  /** The artifact events of a task, as readers of its stream get them. */
  async function chunksOf(turns: readonly (readonly AgentEvent[])[]): Promise<string[]> {
    await using served = startHandler({
      async *agent({ task }) {
        const [first = [], second = []] = turns;
        yield* task === undefined ? first : second;
        if (task === undefined && turns.length > 1) yield inputRequired("?");
      },
    });
    const chunks: string[] = [];
    let sayOptions: SayOptions = {};
    for (const _ of turns) {
      for await (const { response } of served.stream("go", sayOptions)) {
        const { payload } = response;
        if (payload.case === "task") sayOptions = { taskId: payload.value.id };
        if (payload.case !== "artifactUpdate") continue;
        const { artifact: part, append } = payload.value;
        chunks.push(`${part?.artifactId} ${textIn(part?.parts)} ${append ? "appended" : "begins"}`);
      }
    }
    return chunks;
  }

  it("a chunk with append begins an artifact that the task does not have, and continues one that it has", async () => {
    const first = [
      appended("a", "1"),
      appended("a", "2"),
      appended("b", "1"),
      appended("a", "3"),
      artifact("4", { artifactId: "a" }),
    ];
    expect(await chunksOf([[...first, appended("a", "5")]])).toEqual([
      "a 1 begins",
      "a 2 appended",
      "b 1 begins",
      "a 3 appended",
      "a 4 begins",
      "a 5 appended",
    ]);
  });

  it("a chunk with append continues an artifact of an earlier turn", async () => {
    expect(await chunksOf([[appended("a", "1")], [appended("a", "2"), appended("b", "1")]])).toEqual([
      "a 1 begins",
      "a 2 appended",
      "b 1 begins",
    ]);
  });
});

describe("an event emitted while the store is busy", () => {
  it.each<[string, boolean, AgentEvent]>([
    ["the first chunk of an artifact", true, artifact("x")],
    ["a chunk that goes on", true, chunk("x")],
    ["a last chunk", false, chunk("x", true)],
    ["a whole artifact that says it is the last", false, artifact("x", { lastChunk: true })],
    ["a status", false, working()],
    ["a question", false, inputRequired("?")],
    ["a reply", false, reply("x")],
  ])("an event emitted while the store is busy, %s: accepted at once is %s", async (_, atOnce, event) => {
    await using open = await openTurn();
    open.held.hold();
    await open.turn.emit(chunk("busy"));
    await settle();
    let accepted = false;
    const emitted = open.turn.emit(event).then(() => {
      accepted = true;
    });
    await settle();
    expect([open.held.heldCount.length, accepted]).toEqual([1, atOnce]);
    await open.held.releaseOldest();
    expect([open.held.heldCount.length, accepted]).toEqual([1, atOnce]);
    await open.held.releaseOldest();
    expect([open.held.heldCount.length, accepted]).toEqual([0, true]);
    await emitted;
    await open.end();
  });

  it("an event reaches no subscriber before it is stored", async () => {
    await using open = await openTurn();
    const { id } = taskOf({ payload: { case: "task", value: await open.served.get(open.turn.taskId) } } as never);
    const stream = open.served.subscribe(id)[Symbol.asyncIterator]();
    await stream.next();
    open.held.hold();
    await open.turn.emit(artifact("x"));
    let shown = false;
    const next = stream.next().then(() => {
      shown = true;
    });
    await settle();
    expect([shown, (await open.served.get(id)).artifacts.length]).toEqual([false, 0]);
    await open.held.releaseOldest();
    await next;
    expect((await open.served.get(id)).artifacts.length).toBe(1);
    await stream.return?.();
  });

  it.each([
    ["so many events", { batchMaxEvents: 3 }, "x", 3],
    ["so many bytes", { batchMaxBytes: 1000 }, "x".repeat(500), 2],
  ])("an event emitted while the store is busy waits when %s are already waiting", async (_, limits, text, fit) => {
    await using open = await openTurn(limits);
    open.held.hold();
    await open.turn.emit(chunk(text));
    await settle();
    const accepted = open.accepted(Array.from({ length: 7 }, () => chunk(text)));
    await settle();
    expect([accepted.length, open.held.heldCount.length]).toEqual([fit, 1]);
    await open.held.releaseOldest();
    expect([accepted.length, open.held.heldCount.length]).toEqual([2 * fit, 1]);
    const task = await open.end();
    expect(textIn(task.artifacts[0]?.parts)).toBe(text.repeat(8));
  });
});

describe("events of an agent that does not wait for them", () => {
  it.each([1, 3, 64])(
    "events of an agent that does not wait for them are stored in order of arrival, with %d to a batch",
    async (batchMaxEvents) => {
      await using open = await openTurn({ batchMaxEvents });
      const texts = Array.from({ length: 200 }, (_, index) => `${index} `);
      for (const text of texts) void open.turn.emit(chunk(text));
      const task = await open.end();
      expect(textIn(task.artifacts[0]?.parts)).toBe(texts.join(""));
    },
  );

  it("events without a wait keep their order across statuses, parallel branches and callbacks", async () => {
    await using open = await openTurn({ batchMaxEvents: 2 });
    open.held.hold();
    const { emit } = open.turn;
    const events = [chunk("1"), chunk("2"), working("a"), chunk("3"), working("b"), chunk("4"), chunk("5", true)];
    const all = Promise.all(events.map((event) => emit(event)));
    open.held.release();
    await all;
    const task = await open.end();
    expect(task.history.map(({ parts }) => textIn(parts))).toEqual(["go", "a", "b"]);
    expect(textIn(task.artifacts[0]?.parts)).toBe("12345");
  });
});

describe("flush", () => {
  it("flush resolves when all emitted events are stored", async () => {
    await using open = await openTurn();
    open.held.hold();
    await open.turn.emit(chunk("x"));
    let flushed = false;
    const flushing = open.turn.flush().then(() => {
      flushed = true;
    });
    await settle();
    expect(flushed).toBe(false);
    await open.held.releaseOldest();
    await flushing;
  });

  it.each([1, 3, 64])("flush also waits for events that wait for room, with %d to a batch", async (batchMaxEvents) => {
    await using open = await openTurn({ batchMaxEvents });
    for (let index = 0; index < 200; index++) void open.turn.emit(chunk("x"));
    await open.turn.flush();
    const task = await open.served.get(open.turn.taskId);
    expect(textIn(task.artifacts[0]?.parts)).toBe("x".repeat(200));
  });

  it("flush makes no task and resolves at once when no event was emitted", async () => {
    await using served = startHandler({
      async agent({ flush }) {
        await flush();
        return reply("ok");
      },
    });
    expect((await served.send("go")).payload.case).toBe("message");
    const { totalSize } = await served.operations.listTasks(requestOf("listTasks"), contextOf());
    expect(totalSize).toBe(0);
  });
});

it("the writes of many tasks that wait on each other share one flight", async () => {
  const clock = createVirtualClock();
  const held = heldStore(clock);
  const gate = Promise.withResolvers<void>();
  await using served = startHandler({
    clock,
    store: held.store,
    async *agent() {
      yield working();
      await gate.promise;
      yield artifact("x", { lastChunk: true });
    },
  });
  const answers = Array.from({ length: 6 }, () => served.send("go"));
  await settle();
  held.hold();
  gate.resolve();
  await settle();
  expect(held.heldCount).toEqual([1]);
  await held.releaseOldest();
  expect(held.heldCount).toEqual([5]);
  held.release();
  expect((await Promise.all(answers)).map((answer) => stateOf(taskOf(answer)))).toEqual(Array(6).fill("COMPLETED"));
});
