import fc from "fast-check";
import type { Agent, StreamItem, Task } from "trivium";
import { artifact, inputRequired, memoryTaskStore, Role, working } from "trivium";
import { describe, expect, it } from "vitest";
import type { LogRecord, TaskStore } from "../../../src/core/ports.js";
import { parseEventId } from "../../../src/core/task/event-id.js";
import { applyEvent, copyTask } from "../../../src/protocol/fold.js";
import { startHandler, type TestHandler } from "../../support/handler.js";
import { itemsOf } from "../../support/items.js";
import { openStream, stateOf, taskOf, textIn } from "../../support/say.js";
import { tries } from "../../support/tries.js";
import { turns } from "../../support/turns.js";

const scope = { agent: "", tenant: "", owner: "alice" };

/** A store in which each write takes as long as the next number says. */
function slowStore(latencies: readonly number[]): TaskStore {
  let flights = 0;
  return memoryTaskStore({
    beforeFlush: () => {
      const latency = latencies[flights++ % latencies.length] ?? 0;
      return latency === 0 ? undefined : turns(latency);
    },
  });
}

interface Line {
  readonly kind: "chunk" | "long" | "status" | "last";
  readonly pause: number;
}

/** The numbered chunks of a line. */
function textsOf(kind: Line["kind"], index: number): string[] {
  const chunks = { status: 0, chunk: 1, last: 1, long: 300 }[kind];
  return Array.from({ length: chunks }, (_, chunk) => `${index}.${chunk} `);
}

/** An agent that writes the lines with the pauses that each one says. */
function speaker(lines: readonly Line[], style: "generator" | "emits" | "does not wait"): Agent {
  const events = async function* () {
    for (const [index, { kind, pause }] of lines.entries()) {
      if (pause > 0) await turns(pause);
      if (kind === "status") yield working(`status ${index}`);
      for (const text of textsOf(kind, index)) yield chunkOf(text, kind === "last");
    }
  };
  if (style === "generator") return events;
  return async ({ emit }) => {
    for await (const event of events()) {
      const accepted = emit(event);
      if (style === "emits") await accepted;
    }
    return undefined;
  };
}

const chunkOf = (text: string, lastChunk = false) => artifact(text, { artifactId: "a", append: true, lastChunk });

interface Subscriber {
  /** When it subscribes, and whether it knows the first event by then. */
  readonly late: number;
  readonly knows: boolean;
  /** How long it takes over each item. */
  readonly slow: number;
  /** After how many items it leaves and resumes, each time. */
  readonly patience: number;
}

/** Follows a task to its end, leaving and resuming after the last item. */
async function follow(
  { subscribe }: Pick<TestHandler, "subscribe">,
  first: StreamItem,
  subscriber: Subscriber,
): Promise<StreamItem[]> {
  const { id } = taskOf(first.response);
  const streamItems = subscriber.knows ? [first] : [];
  await turns(subscriber.late);
  for (;;) {
    const iterator = subscribe(id, { after: streamItems.at(-1)?.id })[Symbol.asyncIterator]();
    for (let items = 0; items < subscriber.patience; items++) {
      const step = await iterator.next().catch(() => undefined);
      // Without an event id an ended task has nothing to stream, so it resumes with the sender's id.
      if (step === undefined) return follow({ subscribe }, first, { ...subscriber, knows: true });
      if (step.done === true) return streamItems;
      streamItems.push(step.value);
      await turns(subscriber.slow);
    }
    await iterator.return?.();
  }
}

/** The task as folded from these items alone. */
function foldOf(items: readonly StreamItem[]): Task | undefined {
  const [first, ...rest] = items;
  if (first?.response.payload.case !== "task") return undefined;
  const task = copyTask(first.response.payload.value);
  for (const { response } of rest) applyEvent(task, response);
  return task;
}

const positionsOf = (items: readonly StreamItem[]) => items.map(({ id }) => parseEventId(id ?? "")?.seq);

async function eventsOf(store: TaskStore, id: string): Promise<LogRecord[]> {
  const page = await store.recordsAfter((await store.head(scope, id))?.key ?? 0, 0, 100_000);
  if (page === undefined || page === "compacted") throw new Error("the log is gone");
  return page.records.filter(({ kind }) => kind === "event");
}

const arbitraryLines = fc.array(
  fc.record({
    kind: fc.constantFrom<Line["kind"][]>("chunk", "long", "long", "status", "last"),
    pause: fc.constantFrom(0, 0, 0, 1, 5),
  }),
  { minLength: 1, maxLength: 14 },
);
const arbitraryStyle = fc.constantFrom<Parameters<typeof speaker>[1][]>("generator", "emits", "does not wait");
const arbitraryLatencies = fc.array(fc.constantFrom(0, 0, 1, 7), { minLength: 1, maxLength: 4 });
const arbitrarySubscribers = fc.array(
  fc.record({
    late: fc.nat(25),
    knows: fc.boolean(),
    slow: fc.constantFrom(0, 0, 1, 3),
    patience: fc.constantFrom(1, 3, 40, 5000),
  }),
  { minLength: 1, maxLength: 4 },
);

describe("subscribers", () => {
  it("subscribers see a snapshot and every later event once, however they read", async () => {
    const world = fc.record({
      lines: arbitraryLines,
      style: arbitraryStyle,
      latencies: arbitraryLatencies,
      batchMaxEvents: fc.constantFrom(1, 2, 64),
      subscribers: arbitrarySubscribers,
    });
    await fc.assert(
      fc.asyncProperty(world, async ({ lines, style, latencies, batchMaxEvents, subscribers }) => {
        const store = slowStore(latencies);
        await using handler = startHandler({ agent: speaker(lines, style), store, limits: { batchMaxEvents } });
        const { firstItem: first, iterator } = await openStream(handler.stream("go"));
        const sender = itemsOf({ [Symbol.asyncIterator]: () => iterator });
        const streams = await Promise.all(subscribers.map((subscriber) => follow(handler, first, subscriber)));
        const { id } = taskOf(first.response);
        const task = await handler.get(id);
        expect(textIn(task.artifacts[0]?.parts)).toBe(lines.flatMap(({ kind }, at) => textsOf(kind, at)).join(""));
        const events = await eventsOf(store, id);
        for (const items of [[first, ...(await sender)], ...streams]) {
          expect(foldOf(items)).toEqual(task);
          const [from = 0, ...positions] = positionsOf(items);
          expect(positions).toEqual(events.map(({ seq }) => seq).filter((seq) => seq > from));
        }
      }),
      { numRuns: tries(10, 30) },
    );
  });
});

describe("messages to one task", () => {
  it("messages to one task are each taken once, by one turn at a time, however many arrive at once", async () => {
    const world = fc.record({
      messages: fc.array(fc.nat(12), { minLength: 2, maxLength: 8 }),
      latencies: arbitraryLatencies,
      waits: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(world, async ({ messages, latencies, waits }) => {
        let running = 0;
        let most = 0;
        const agent: Agent = async function* ({ receive }) {
          most = Math.max(most, ++running);
          yield working();
          await turns(2);
          yield inputRequired("more?");
          if (waits) await receive();
          yield inputRequired("and more?");
          running--;
        };
        await using handler = startHandler({ agent, store: slowStore(latencies) });
        const { id } = taskOf(await handler.send("0"));
        const answers = messages.map(async (delay, index) => {
          await turns(delay);
          return stateOf(taskOf(await handler.send(`${index + 1}`, { taskId: id })));
        });
        expect(new Set(await Promise.all(answers))).toEqual(new Set(["INPUT_REQUIRED"]));
        const { history } = await handler.get(id);
        const numbers = history.filter(({ role }) => role === Role.USER).map(({ parts }) => Number(textIn(parts)));
        expect(numbers.toSorted((a, b) => a - b)).toEqual([0, ...messages.map((_, index) => index + 1)]);
        expect(most).toBe(1);
      }),
      { numRuns: tries(15, 40) },
    );
  });
});

describe("a send that resumes after its answer", () => {
  it("a send that resumes after its answer gets the remaining events, and starts nothing", async () => {
    let started = 0;
    const agent: Agent = async ({ ask }) => {
      started++;
      await ask(inputRequired("which?"));
      return undefined;
    };
    await using handler = startHandler({ agent });
    const items = await itemsOf(handler.stream("go"));
    const again = await Promise.all(items.map(({ id }) => itemsOf(handler.stream("go", {}, { after: id }))));
    expect(again.map(({ length }) => length)).toEqual(items.map((_, index) => items.length - 1 - index));
    expect(started).toBe(1);
  });
});
