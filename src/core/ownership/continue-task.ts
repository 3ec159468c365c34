import { isInterrupted } from "../../protocol/states.js";
import type { LogRecord, StoredTask } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { type OpenArtifacts, openAfter } from "../task/conversation-tracker.js";
import { foldStored } from "../task/fold.js";
import { LiveTask } from "../task/live-task.js";

/** Records read at once. */
const pageSize = 1_000;

/**
 * A live task from what is stored, to be claimed. If its turn has not ended, its log shows which artifacts of the turn
 * are not in the conversation yet.
 */
export async function continueTask(runtime: Runtime, stored: StoredTask): Promise<LiveTask> {
  const live = new LiveTask(runtime, stored);
  if (runtime.conversations !== undefined && mayBeOpen(runtime, stored)) {
    live.resumeArtifacts(await openArtifacts(runtime, stored));
  }
  return live;
}

// A turn that waits for its caller may be left to the process that gets the answer.
function mayBeOpen({ restartable }: Runtime, { head }: StoredTask): boolean {
  return head.holder !== "" || (restartable && isInterrupted(head.state));
}

async function openArtifacts({ store }: Runtime, stored: StoredTask): Promise<OpenArtifacts> {
  const { key, seq, turnSeq } = stored.head;
  const [started] = await store.recordsAt(key, [turnSeq]);
  const message = started?.kind === "turnStarted" ? (started.message ?? turnSeq) : turnSeq;
  let open: OpenArtifacts;
  for (let after = Math.min(message, turnSeq) - 1; after < seq; ) {
    const page = await store.recordsAfter(key, Math.max(0, after), pageSize);
    if (page === "compacted") return everyArtifact(stored);
    const records: readonly LogRecord[] = page?.records ?? [];
    const last = records.at(-1);
    if (last === undefined) break;
    open = openAfter(open, records);
    after = last.seq;
  }
  return open;
}

// Rather twice than not at all.
function everyArtifact(stored: StoredTask): OpenArtifacts {
  return new Map(foldStored(stored).artifacts.map(({ artifactId }) => [artifactId, false]));
}
