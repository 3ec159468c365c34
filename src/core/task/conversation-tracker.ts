import { applyEvent, artifactIndex, emptyTask } from "../../protocol/fold.js";
import type { Artifact, Message, StreamResponse, Task } from "../../protocol/model.js";
import { endsBlockingSend } from "../../protocol/states.js";
import { artifactEntry, type EntryFacts, messageEntry } from "../conversation/entries.js";
import type { ConversationRecord, LogRecord } from "../ports.js";

// Derives the entries of a conversation from a task's log: the caller's messages, the messages with which the agent
// stops, and each artifact once. An artifact is complete when the turn stops, or when the next message is taken after
// its last chunk. Messages of a working agent report progress and get no entry.
//
// A process that takes a turn over finds in the log which artifacts have no entry yet (`core/ownership/claim-turn.ts`).

/** Artifacts that changed and have no entry yet, and whether their last chunk was written. `undefined`: none so far. */
export type OpenArtifacts = Map<string, boolean> | undefined;

/** Moves the open artifacts on by these records, in place: a record costs the same however many artifacts there are. */
export function updateOpenArtifacts(open: OpenArtifacts, records: readonly LogRecord[]): OpenArtifacts {
  let current = open;
  for (const record of records) {
    const change = readArtifactChange(record);
    if (change !== undefined) {
      current ??= new Map();
      current.set(change.artifactId, change.isComplete);
    } else if (current !== undefined) close(current, readStep(record));
  }
  return current;
}

/** The entries of a write to a task. `task`: the fold before it. */
export function deriveEntries(
  { task, open }: { readonly task: Task; readonly open: OpenArtifacts },
  records: readonly LogRecord[],
  facts: EntryFacts,
): readonly ConversationRecord[] {
  const entries: ConversationRecord[] = [];
  if (records.every((record) => readStep(record) === undefined)) return entries;
  const current = new Map(open);
  const changes = new Map<string, StreamResponse[]>();
  for (const record of records) {
    const change = readArtifactChange(record);
    if (change !== undefined) {
      current.set(change.artifactId, change.isComplete);
      const earlier = changes.get(change.artifactId);
      if (earlier === undefined) changes.set(change.artifactId, [change.event]);
      else earlier.push(change.event);
      continue;
    }
    const step = readStep(record);
    for (const artifactId of close(current, step)) {
      const artifact = artifactAfter(task, changes.get(artifactId) ?? [], artifactId);
      if (artifact !== undefined) entries.push(artifactEntry(artifact, facts));
    }
    if (step?.message !== undefined) entries.push(messageEntry(step.message, facts));
  }
  return entries;
}

/** Removes the artifacts that get their entry with a step, and returns their ids. */
function close(open: Map<string, boolean>, step: TrackedStep | undefined): readonly string[] {
  if (step === undefined) return [];
  const ids: string[] = [];
  for (const [artifactId, isComplete] of open) if (isComplete || step.closesAll) ids.push(artifactId);
  for (const artifactId of ids) open.delete(artifactId);
  return ids;
}

/** A change of an artifact, and whether it was written with its last chunk. */
interface ArtifactChange {
  readonly artifactId: string;
  readonly isComplete: boolean;
  readonly event: StreamResponse;
}

function readArtifactChange(record: LogRecord): ArtifactChange | undefined {
  if (record.kind !== "event" || record.event.payload.case !== "artifactUpdate") return undefined;
  const { artifact, lastChunk } = record.event.payload.value;
  return artifact && { artifactId: artifact.artifactId, isComplete: lastChunk, event: record.event };
}

/** The part of a record that is no artifact. With `closesAll` no artifact stays open, otherwise only unfinished ones do. */
interface TrackedStep {
  readonly closesAll: boolean;
  readonly message: Message | undefined;
}

function readStep(record: LogRecord): TrackedStep | undefined {
  switch (record.kind) {
    case "message":
      return { closesAll: false, message: record.message };
    case "turnEnded":
    case "turnParked":
      return { closesAll: true, message: undefined };
    case "event": {
      const { payload } = record.event;
      const status = payload.case === "statusUpdate" ? payload.value.status : undefined;
      return status !== undefined && endsBlockingSend(status.state)
        ? { closesAll: true, message: status.message }
        : undefined;
    }
    default:
      return undefined;
  }
}

function artifactAfter(task: Task, changes: readonly StreamResponse[], id: string): Artifact | undefined {
  const artifact = task.artifacts[artifactIndex(task.artifacts, id)];
  const part = emptyTask(task.id, task.contextId);
  if (artifact !== undefined) part.artifacts = [{ ...artifact, parts: [...artifact.parts] }];
  for (const event of changes) applyEvent(part, event);
  return part.artifacts[0];
}
