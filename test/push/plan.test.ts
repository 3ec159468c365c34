import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogRecord } from "../../src/core/ports.js";
import { applyEvent, emptyTask } from "../../src/protocol/fold.js";
import type { StreamResponse, Task, TaskState } from "../../src/protocol/model.js";
import { joinChunks } from "../../src/push/due-events.js";
import { type Due, planArtifacts, planEvents } from "../../src/push/plan.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { newTask } from "../contract/fixtures.js";
import { chunk, status } from "./scene.js";

/** `WORKING` is a status, `end` the end of a turn, `msg` a message, anything else a chunk. */
function recordsOf(words: readonly string[]): LogRecord[] {
  return words.map((word, index): LogRecord => {
    const seq = index + 1;
    if (word === "end") return { kind: "turnEnded", seq };
    if (word === "turn") return { kind: "turnStarted", seq, turn: 2, attempt: 1, cause: "message" };
    const event = /^[A-Z_]+$/.test(word) ? status(word as keyof typeof TaskState) : chunk(word);
    return { kind: "event", seq, event };
  });
}

function labelOf(due: Due): string {
  if (due.kind === "event") return "event";
  const { artifactId, first, last } = due.run;
  return `${artifactId}${first}-${last}`;
}

describe("the delivery plan of a webhook", () => {
  it.each<[string, string, string]>([
    ["each status", "SUBMITTED WORKING COMPLETED end", "event,event,event,"],
    ["a single artifact at the next event", "a=1 WORKING", ",a1-1 event"],
    ["an artifact at its last chunk", "a=1 a+2 a+3! WORKING", ",,a1-3,event"],
    ["a last chunk that is the only one", "a=1! WORKING", "a1-1,event"],
    ["a growing artifact when the task ends, before the end", "a=1 a+2 COMPLETED", ",,a1-2 event"],
    ["a growing artifact when the caller is asked", "a=1 a+2 INPUT_REQUIRED", ",,a1-2 event"],
    ["no growing artifact at a status in between", "a=1 a+2 WORKING a+3! COMPLETED", ",,event,a1-4,event"],
    ["what is unsent when a turn ends", "a=1 a+2 b=1 end", ",,,a1-2 b3-3"],
    ["what is replaced, then what replaces it", "a=1 a=2 COMPLETED", ",a1-1,a2-2 event"],
    ["what has grown and is replaced", "a=1 a+2 a=3! COMPLETED", ",,a1-2 a3-3,event"],
    ["two that grow side by side once, as wholes", "a=1 b=1 a+2 b+2 a+3! b+3!", ",a1-1,b2-2,,a1-5,b2-6"],
    [
      "an artifact that goes on after a stop, as a whole again",
      "a=1! INPUT_REQUIRED a+2 COMPLETED",
      "a1-1,event,,a1-3 event",
    ],
    ["what is appended to nothing", "a+1 a+2! COMPLETED", ",a1-2,event"],
    ["nothing twice", "a=1! end turn WORKING end COMPLETED end", "a1-1,,,event,,event,"],
  ])("the delivery plan of a webhook has %s", (_, log, delivered) => {
    const plan = planArtifacts();
    const labels = recordsOf(log.split(" ")).map((record) => plan(record).map(labelOf).join(" "));
    expect(labels.join(",")).toBe(delivered);
  });

  it("the delivery plan of a webhook has each event and nothing else when every event is requested", () => {
    const records = recordsOf("turn a=1 a+2 WORKING a+3! COMPLETED end".split(" "));
    expect(records.map((record) => planEvents(record).length)).toEqual([0, 1, 1, 1, 1, 1, 0]);
  });

  const word = fc.oneof(
    fc
      .tuple(
        fc.constantFrom("a", "b", "c"),
        fc.constantFrom("=", "+"),
        fc.constantFrom("x", "y", ""),
        fc.constantFrom("", "", "!"),
      )
      .map((parts) => parts.join("")),
    fc.constantFrom("WORKING", "INPUT_REQUIRED", "end", "turn"),
  );

  it("the delivery plan of a webhook folds to the same task as the log, for any log", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 40 }), async (words) => {
        const records = recordsOf([...words, "COMPLETED", "end"]);
        const events = records.flatMap((record) => (record.kind === "event" ? [record.event] : []));
        expect(plain(fold(await toldOf(records)))).toEqual(plain(fold(events)));
      }),
      { numRuns: 200 },
    );
  });
});

async function toldOf(records: readonly LogRecord[]): Promise<StreamResponse[]> {
  const store = memoryTaskStore();
  const { key } = await store.create(newTask({ records }));
  const plan = planArtifacts();
  const delivered: StreamResponse[] = [];
  for (const due of records.flatMap((record) => plan(record))) {
    const event = due.kind === "event" ? due.event : await joinChunks(store, key, due.run);
    if (event !== undefined) delivered.push(event);
  }
  await store.close();
  return delivered;
}

function fold(events: readonly StreamResponse[]): Task {
  const task = emptyTask("t", "c");
  for (const event of events) applyEvent(task, event);
  return task;
}

// Artifacts are ordered by first appearance, and a growing artifact appears when it is complete.
function plain({ artifacts, status }: Task) {
  const chunks = artifacts.map(
    ({ artifactId, parts }) => [artifactId, parts.map(({ content }) => content.value)] as const,
  );
  return { artifacts: chunks.sort(([one], [other]) => (one < other ? -1 : 1)), state: status?.state };
}
