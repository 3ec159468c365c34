import type { Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { TaskState } from "../protocol/model.js";
import type { LiveTaskDeps } from "./live-task.js";
import type { Append, AppendResult, Head } from "./ports.js";

/** One write of a live task: its first, which creates it, or an append under the fence. */
export interface Write {
  readonly task: { readonly id: string; readonly contextId: string; readonly scope: Scope; readonly version: string };
  readonly fence: { readonly key: number | undefined; readonly epoch: number; readonly seq: number };
  readonly holder: string;
  readonly claim: { readonly turn: number } | undefined;
  readonly body: Omit<Append, "key" | "epoch" | "seq" | "claim">;
}

/** What became of a write. */
export interface Outcome {
  readonly result: AppendResult;
  /** Set when the task was created. */
  readonly head?: Head | undefined;
}

const firstPauseMs = 20;
const maxPauseMs = 2000;

/**
 * Brings a write through failures of the store: tried again until `storeRetryMs` has passed, then the last error is
 * thrown. After a failure nobody knows whether the write took effect, so the head is asked first.
 */
export async function retry(deps: LiveTaskDeps, write: Write, first: unknown): Promise<Outcome> {
  const { clock, logger, limits } = deps;
  const until = clock.now() + limits.storeRetryMs;
  let error = first;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    // An answer, such as a full store, is not a failure to get one.
    if (error instanceof A2AError || clock.now() + pauseMs > until) throw error;
    logger.warn({ taskId: write.task.id, error }, "the task store failed, the turn waits");
    await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
    try {
      return (await tookEffect(deps, write)) ?? (await attempt(deps, write));
    } catch (again) {
      error = again;
    }
  }
}

/** Brings a write to the store. */
export async function attempt({ store }: LiveTaskDeps, { task, fence, holder, claim, body }: Write): Promise<Outcome> {
  const { key, epoch, seq } = fence;
  if (key !== undefined) {
    const claimed = claim === undefined ? undefined : { holder, turn: claim.turn };
    return { result: await store.append({ ...body, key, epoch, seq, claim: claimed }) };
  }
  const { status = { state: TaskState.SUBMITTED, time: 0 }, ...rest } = body;
  const { id, contextId, scope, version } = task;
  return { result: "stored", head: await store.create({ ...rest, status, id, contextId, scope, version, holder }) };
}

// We are the only writer of our epoch, so a head that stands where our write would have put it was put there by it.
async function tookEffect({ store }: LiveTaskDeps, write: Write): Promise<Outcome | undefined> {
  const { task, fence, claim, body } = write;
  const head = await store.head(task.scope, task.id);
  if (head === undefined) return undefined;
  const epoch = fence.key === undefined ? 1 : fence.epoch + (claim === undefined ? 0 : 1);
  if (head.epoch !== epoch || head.seq !== fence.seq + body.records.length) return undefined;
  if (claim !== undefined && head.holder !== write.holder) return undefined;
  return { result: "stored", head: fence.key === undefined ? head : undefined };
}
