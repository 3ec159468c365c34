import { describe, expect, it } from "vitest";
import type { LogRecord } from "../../../src/core/ports.js";
import { applyRecord, foldStored } from "../../../src/core/task/fold.js";
import { artifact, completed, inputRequired, reply, working } from "../../../src/protocol/events.js";
import { copyTask, emptyTask } from "../../../src/protocol/fold.js";
import {
  Role,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  type TaskStatusUpdateEvent,
} from "../../../src/protocol/model.js";
import { data, text } from "../../../src/protocol/parts.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler } from "../../support/handler.js";
import { historyOf, stateOf, taskOf, textIn } from "../../support/say.js";

type Entry = string | TaskStatusUpdateEvent | TaskArtifactUpdateEvent;

let messages = 0;

/** A record; a text stands for a message of the caller. */
function recordOf(entry: Entry, seq: number): LogRecord {
  if (typeof entry === "string") {
    const message = { ...reply(entry), messageId: `m${seq}`, role: Role.USER };
    return { kind: "message", seq, entry: "e", message };
  }
  const isStatus = entry.$typeName === "lf.a2a.v1.TaskStatusUpdateEvent";
  if (isStatus && entry.status?.message !== undefined) entry.status.message.messageId ||= `s${++messages}`;
  const payload = isStatus
    ? ({ case: "statusUpdate", value: entry } as const)
    : ({ case: "artifactUpdate", value: entry } as const);
  const event: StreamResponse = { $typeName: "lf.a2a.v1.StreamResponse", payload };
  return { kind: "event", seq, event };
}

function foldOf(...entries: readonly Entry[]): Task {
  const task = emptyTask("t", "c");
  for (const [index, entry] of entries.entries()) applyRecord(task, recordOf(entry, index + 1));
  return task;
}

const inA = (content: Parameters<typeof artifact>[0], append = true) => artifact(content, { artifactId: "a", append });
const partsOfA = (...chunks: readonly TaskArtifactUpdateEvent[]) => foldOf(...chunks).artifacts[0]?.parts;

describe("the history of a task", () => {
  it.each<[string, readonly Entry[], readonly string[]]>([
    ["is the caller's messages", ["one", working(), "two"], ["user: one", "user: two"]],
    ["has no message of the status that stands", ["one", working("busy")], ["user: one"]],
    ["has a status message when the next status replaces it", [working("busy"), working()], ["agent: busy"]],
    ["has it before the message that answers it", [inputRequired("?"), "answer"], ["agent: ?", "user: answer"]],
    [
      "has it once when it was answered and then replaced",
      [inputRequired("?"), "answer", working()],
      ["agent: ?", "user: answer"],
    ],
    ["has no artifacts", [artifact("x", { artifactId: "a" }), completed("done")], []],
  ])("the history of a task %s", (_, entries, history) => {
    expect(historyOf(foldOf(...entries))).toEqual(history);
  });
});

describe("an artifact", () => {
  it("an artifact is replaced in place by the next one with its id", () => {
    const task = foldOf(
      artifact("1", { artifactId: "a", name: "first", metadata: { x: 1 } }),
      artifact("2", { artifactId: "b" }),
      artifact("3", { artifactId: "a" }),
    );
    expect(task.artifacts.map(({ artifactId, parts }) => artifactId + textIn(parts))).toEqual(["a3", "b2"]);
    expect(task.artifacts[0]).toMatchObject({ name: "" });
    expect(task.artifacts[0]?.metadata).toBeUndefined();
  });

  it("an artifact is created by a chunk appended to a missing artifact", () => {
    expect(partsOfA(inA("x"))).toEqual([text("x")]);
  });

  it("an artifact joins adjacent texts into one part", () => {
    expect(partsOfA(inA("a", false), inA("b"), inA(""), inA([text("c"), text("d")]))).toEqual([text("abcd")]);
  });

  it.each([
    ["data between them", [text("a"), data(1), text("b")]],
    ["another media type", [text("a"), text("b", { mediaType: "text/html" })]],
    ["metadata before", [text("a", { metadata: { x: 1 } }), text("b")]],
    ["metadata behind", [text("a"), text("b", { metadata: { x: 1 } })]],
    ["a file name", [text("a"), text("b", { filename: "b.txt" })]],
    ["data in a row", [data(1), data(2)]],
  ])("an artifact keeps parts apart that differ: %s", (_, parts) => {
    const [first, ...rest] = parts.map((part) => inA(part));
    expect(partsOfA(...(first === undefined ? [] : [first]), ...rest)).toEqual(parts);
  });

  it("an artifact gathers the metadata of its chunks", () => {
    const chunk = (metadata: { readonly [key: string]: number }, append: boolean) =>
      artifact("x", { artifactId: "a", append, metadata });
    const task = foldOf(chunk({ a: 1, b: 1 }, false), chunk({ b: 2, c: 2 }, true));
    expect(task.artifacts[0]?.metadata).toEqual({ a: 1, b: 2, c: 2 });
  });

  it("an artifact leaves its chunks unchanged", () => {
    const chunks = [inA("a", false), inA("b")];
    foldOf(...chunks);
    expect(chunks.map(({ artifact: each }) => each?.parts)).toEqual([[text("a")], [text("b")]]);
  });
});

it("metadata of status events is gathered in the task", () => {
  const task = foldOf(working("", { metadata: { a: 1, b: 1 } }), working(), completed("", { metadata: { b: 2 } }));
  expect(task.metadata).toEqual({ a: 1, b: 2 });
});

describe("a copy", () => {
  const whole = foldOf("one", working("two"), "three", artifact("x", { artifactId: "a" }), completed("four"));

  it.each([
    [undefined, ["user: one", "agent: two", "user: three"]],
    [0, []],
    [1, ["user: three"]],
    [3, ["user: one", "agent: two", "user: three"]],
    [99, ["user: one", "agent: two", "user: three"]],
  ])("a task can be copied with a history of %s", (historyLength, history) => {
    expect(historyOf(copyTask(whole, { historyLength }))).toEqual(history);
  });

  it("a copy of a task omits artifacts on request", () => {
    expect([copyTask(whole).artifacts.length, copyTask(whole, { artifacts: false }).artifacts]).toEqual([1, []]);
  });

  it("a copy of a task does not change when the task continues", () => {
    const task = foldOf(inA("a", false));
    const copy = copyTask(task);
    [inA("b"), "more", completed("done", { metadata: { a: 1 } })].forEach((entry, index) => {
      applyRecord(task, recordOf(entry, 10 + index));
    });
    expect([textIn(copy.artifacts[0]?.parts), copy.history, stateOf(copy), copy.metadata]).toEqual([
      "a",
      [],
      "SUBMITTED",
      undefined,
    ]);
  });
});

it("a snapshot and the records after it fold to the same task as all records, and stay unchanged", async () => {
  const store = memoryTaskStore();
  await using served = startHandler({
    store,
    async *agent({ task }) {
      for (let count = 0; count < 40; count++) {
        yield artifact("x".repeat(8 << 10), { artifactId: "a", append: count > 0, metadata: { count } });
        if (count % 10 === 0) yield working(`${count}`);
      }
      yield task === undefined ? inputRequired("?") : completed("done");
    },
  });
  const { id } = taskOf(await served.send("go"));
  const shown = await served.get(id);
  const storedTask = await store.read({ agent: "", tenant: "", owner: "alice" }, id);
  if (storedTask?.snapshot === undefined) throw new Error("the log is small enough to go without a snapshot");
  const all = await store.recordsAfter(storedTask.head.key, 0, 1000);
  if (typeof all !== "object") throw new Error("the log has gone");
  expect(foldStored(storedTask)).toEqual(foldStored(storedTask));
  expect(foldStored({ ...storedTask, snapshot: undefined, records: all.records })).toEqual(foldStored(storedTask));
  expect(foldStored(storedTask)).toEqual(shown);
  expect(textIn(shown.artifacts[0]?.parts)).toHaveLength(40 * (8 << 10));
});
