import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EntryFacts } from "../../../src/core/conversation/entries.js";
import type { LogRecord } from "../../../src/core/ports.js";
import { deriveEntries, type OpenArtifacts, updateOpenArtifacts } from "../../../src/core/task/conversation-tracker.js";
import { applyRecord } from "../../../src/core/task/fold.js";
import { artifact, completed, working } from "../../../src/protocol/events.js";
import { emptyTask } from "../../../src/protocol/fold.js";
import type { StreamResponse } from "../../../src/protocol/model.js";

const facts: EntryFacts = { taskId: "task", at: 1, maxBytes: 1_000 };

type Kind = "a" | "b" | "last of a" | "progress" | "stop";
const kinds: readonly Kind[] = ["a", "b", "last of a", "progress", "stop"];

function recordOf(kind: Kind, seq: number): LogRecord {
  return { kind: "event", seq, event: { $typeName: "lf.a2a.v1.StreamResponse", payload: payloadOf(kind, seq) } };
}

function payloadOf(kind: Kind, seq: number): StreamResponse["payload"] {
  if (kind === "stop") return { case: "statusUpdate", value: completed(`stopped at ${seq}`) };
  if (kind === "progress") return { case: "statusUpdate", value: working("still there") };
  const chunk = { artifactId: kind.slice(-1), append: true, lastChunk: kind === "last of a" };
  return { case: "artifactUpdate", value: artifact(`chunk ${seq}`, chunk) };
}

/** What a task's writes add to its conversation, when its records come in batches of these lengths. */
function entriesOfBatches(records: readonly LogRecord[], lengths: readonly number[]) {
  const task = emptyTask("task", "context");
  let open: OpenArtifacts;
  const entries = [];
  for (let from = 0, batch = 0; from < records.length; batch++) {
    const batchRecords = records.slice(from, from + (lengths[batch % lengths.length] ?? 1));
    entries.push(...deriveEntries({ task, open }, batchRecords, facts));
    open = updateOpenArtifacts(open, batchRecords);
    for (const record of batchRecords) applyRecord(task, record);
    from += batchRecords.length;
  }
  return entries;
}

describe("what a task adds to its conversation", () => {
  it("what a task adds to its conversation is the same however its records are divided into writes", () => {
    const batches = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...kinds), { minLength: 1 }), batches, (kindList, lengths) => {
        const records = kindList.map((kind, index) => recordOf(kind, index + 1));
        expect(entriesOfBatches(records, lengths)).toEqual(entriesOfBatches(records, [records.length]));
      }),
    );
  });

  it("what a task adds to its conversation is known before the write, and a refused write changes nothing", () => {
    const open = updateOpenArtifacts(undefined, [recordOf("a", 1)]);
    const ending = [recordOf("b", 2), recordOf("stop", 3)];
    const task = emptyTask("task", "context");
    const first = deriveEntries({ task, open }, ending, facts);
    expect(deriveEntries({ task, open }, ending, facts)).toEqual(first);
    expect(open).toEqual(new Map([["a", false]]));
  });

  it("tracking the conversation of a task costs a record the same however many artifacts are open", () => {
    const open = updateOpenArtifacts(undefined, [recordOf("a", 1)]);
    // The map itself: a copy for each record would cost more with each artifact.
    expect(updateOpenArtifacts(open, [recordOf("b", 2)])).toBe(open);
  });
});
