import { noop } from "../../protocol/async/noop.js";
import { applyEvent, artifactIndex, emptyTask } from "../../protocol/fold.js";
import type { Artifact, Message, Task } from "../../protocol/model.js";
import { isStop } from "../../protocol/states.js";
import { artifactEntry, type EntryFacts, messageEntry } from "../conversation/entries.js";
import type { ConversationRecord, LogRecord } from "../ports.js";

// What of a task's log belongs into the conversation of its context: the caller's messages, the messages with which the
// agent stops, and each artifact once, as it is when the turn stops or when the next message is taken after its last
// chunk. Messages of a working agent are reports of progress.

/** Artifacts that changed and have no entry yet, and whether their last chunk was written. */
export type OpenArtifacts = ReadonlyMap<string, boolean>;

export const noArtifacts: OpenArtifacts = new Map();

/** An entry to be made: of a message, or of the artifact with an id as it is after the record at `index`. */
type Found = { readonly message: Message } | { readonly artifactId: string; readonly index: number };

/** The open artifacts after these records. */
export function openAfter(open: OpenArtifacts, records: readonly LogRecord[]): OpenArtifacts {
  return follow(open, records, noop);
}

/** The entries of a write to a task. `task`: the fold before it. */
export function entriesOf(
  { task, open }: { readonly task: Task; readonly open: OpenArtifacts },
  records: readonly LogRecord[],
  facts: EntryFacts,
): readonly ConversationRecord[] {
  const entries: ConversationRecord[] = [];
  follow(open, records, (found) => {
    if ("message" in found) entries.push(messageEntry(found.message, facts));
    else {
      const artifact = artifactAfter(task, records.slice(0, found.index + 1), found.artifactId);
      if (artifact !== undefined) entries.push(artifactEntry(artifact, facts));
    }
  });
  return entries;
}

function follow(before: OpenArtifacts, records: readonly LogRecord[], visit: (found: Found) => void): OpenArtifacts {
  let open = before;
  for (const [index, record] of records.entries()) {
    const payload = record.kind === "event" ? record.event.payload : undefined;
    if (payload?.case === "artifactUpdate") open = opened(open, payload.value);
    const step = stepOf(record);
    if (step === undefined) continue;
    open = closed(open, step, (artifactId) => visit({ artifactId, index }));
    if (step.message !== undefined) visit({ message: step.message });
  }
  return open;
}

function closed(open: OpenArtifacts, { closesAll }: Step, visit: (artifactId: string) => void): OpenArtifacts {
  if (open.size === 0) return open;
  const left = new Map<string, boolean>();
  for (const [artifactId, isComplete] of open) {
    if (isComplete || closesAll) visit(artifactId);
    else left.set(artifactId, isComplete);
  }
  return left;
}

/** What a record adds besides artifacts. With `closesAll` no artifact stays open, otherwise only unfinished ones do. */
interface Step {
  readonly closesAll: boolean;
  readonly message: Message | undefined;
}

function stepOf(record: LogRecord): Step | undefined {
  switch (record.kind) {
    case "message":
      return { closesAll: false, message: record.message };
    case "turnEnded":
    case "turnParked":
      return { closesAll: true, message: undefined };
    case "event": {
      const { payload } = record.event;
      const status = payload.case === "statusUpdate" ? payload.value.status : undefined;
      return status !== undefined && isStop(status.state) ? { closesAll: true, message: status.message } : undefined;
    }
    default:
      return undefined;
  }
}

// A stream of chunks leaves the map as it is.
function opened(
  open: OpenArtifacts,
  { artifact, lastChunk }: { readonly artifact?: Artifact | undefined; readonly lastChunk: boolean },
): OpenArtifacts {
  const id = artifact?.artifactId;
  if (id === undefined || open.get(id) === lastChunk) return open;
  return new Map(open).set(id, lastChunk);
}

function artifactAfter(task: Task, records: readonly LogRecord[], id: string): Artifact | undefined {
  const events = records.flatMap((record) => {
    if (record.kind !== "event" || record.event.payload.case !== "artifactUpdate") return [];
    return record.event.payload.value.artifact?.artifactId === id ? [record.event] : [];
  });
  const known = task.artifacts[artifactIndex(task.artifacts, id)];
  const part = emptyTask(task.id, task.contextId);
  if (known !== undefined) part.artifacts = [{ ...known, parts: [...known.parts] }];
  for (const event of events) applyEvent(part, event);
  return part.artifacts[0];
}
