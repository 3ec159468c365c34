import { isInterrupted } from "../../protocol/states.js";
import type { LogRecord, StoredTask } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { type OpenArtifacts, openAfter } from "../task/conversation-tracker.js";
import { foldStored } from "../task/fold.js";
import { LiveTask } from "../task/live-task.js";

/** Records read at once. */
const pageSize = 1_000;

/**
 * Makes a live task of a stored one, to be claimed. If its turn has not ended, its log shows which artifacts of the
 * turn are not in the conversation yet.
 */
export async function continueTask(runtime: Runtime, storedTask: StoredTask): Promise<LiveTask> {
  const live = new LiveTask(runtime, storedTask);
  if (runtime.conversations !== undefined && mayBeOpen(runtime, storedTask)) {
    live.resumeArtifacts(await openArtifacts(runtime, storedTask));
  }
  return live;
}

// A turn that waits for its caller may be left to the process that gets the answer.
function mayBeOpen({ restartable }: Runtime, { head }: StoredTask): boolean {
  return head.holder !== "" || (restartable && isInterrupted(head.state));
}

async function openArtifacts({ store }: Runtime, storedTask: StoredTask): Promise<OpenArtifacts> {
  const { key, seq, turnSeq } = storedTask.head;
  const [start] = await store.recordsAt(key, [turnSeq]);
  const message = start?.kind === "turnStarted" ? (start.message ?? turnSeq) : turnSeq;
  let open: OpenArtifacts;
  for (let after = Math.min(message, turnSeq) - 1; after < seq; ) {
    const page = await store.recordsAfter(key, Math.max(0, after), pageSize);
    if (page === "compacted") return everyArtifact(storedTask);
    const records: readonly LogRecord[] = page?.records ?? [];
    const last = records.at(-1);
    if (last === undefined) break;
    open = openAfter(open, records);
    after = last.seq;
  }
  return open;
}

// An entry that is recorded twice is better than a missing one.
function everyArtifact(storedTask: StoredTask): OpenArtifacts {
  return new Map(foldStored(storedTask).artifacts.map(({ artifactId }) => [artifactId, false]));
}
