import { noop } from "../../protocol/async/noop.js";
import { type RetryPlan, retryAfter } from "../../protocol/async/retry.js";
import { TaskState } from "../../protocol/model.js";
import { NameTaken } from "../../protocol/task-names.js";
import type { AppendResult, Head, LogRecord, TaskStore, WriteBody } from "../ports.js";
import { isStoreAnswer, NoAnswer, storeDeadline, storeRetries, Unanswered } from "../store-failure.js";
import type { LiveTask, LiveTaskDeps } from "./live-task.js";

// One write of a live task, until it is certain whether the store has it.
//
// The store answers a write with a result or with an error, or it fails: then the write may have taken effect or may
// still do so. Before it is tried again the log is read. If the records behind the fence are those of this write, it is
// stored; else the same write is made again, and the fence keeps it from being stored twice.
//
// The first write of a turn has a caller who waits for it. After `storeWaitMs` the call fails, unless the write may be
// late.
//
// What a refused send has left behind is decided by one write: whichever creates the task or raises its epoch first. A
// claim, and the creation by an idempotent send, go on and start or keep their turn when they arrive
// (`core/ownership/claim-turn.ts`, `core/send/idempotency-claim.ts`); until then the record of the send stays with this
// process and repeats wait. Without the extension nobody could attach to the task, so the heartbeat ends one that was
// created late (`sweepLost`, `core/ownership/heartbeat.ts`).

/** One write of a live task: the first, which creates it, or an append under the fence. */
export interface Write {
  readonly task: LiveTask;
  readonly fence: { readonly key: number | undefined; readonly epoch: number; readonly seq: number };
  readonly claim: { readonly turn: number } | undefined;
  readonly body: WriteBody;
}

/** The outcome of a write. */
export interface Outcome {
  readonly result: AppendResult;
  /** Set when the task was created, by this write or by an earlier attempt at it. */
  readonly head?: Head | undefined;
}

/** Makes a write, and retries it while the store fails. */
export function makeWrite(deps: LiveTaskDeps, write: Write): Promise<Outcome> {
  return attempt(deps, write).catch((error: unknown) => retryWrite(deps, write, { error, plan: storeRetries(deps) }));
}

/** Lets a first write take longer than its caller waits. It goes on meanwhile. */
export interface LateFirstWrite {
  /** Called after `storeWaitMs`. */
  readonly onLate: (late: Unanswered) => void;
  /** How long a write that fails is tried again, in milliseconds. */
  readonly retryMs: number;
}

/**
 * The same for the first write of a turn. The caller of its send waits for it, so after `storeWaitMs` it fails, unless
 * it may be late. `prepare`: returns the write. It is called once the lease is held, since a write needs the store's
 * time.
 */
export function makeFirstWrite(
  deps: LiveTaskDeps,
  prepare: () => Write,
  lateness: LateFirstWrite | undefined,
): Promise<Outcome> {
  const { health, limits } = deps;
  const { storeWaitMs } = limits;
  const plan = storeRetries(deps, lateness?.retryMs ?? storeWaitMs);
  let failure: unknown;
  const first = async () => {
    const renewal = deps.lease.renewIfLapsed();
    if (renewal !== undefined) await renewal;
    return attempt(deps, prepare());
  };
  const outcome = first().catch((error: unknown) => {
    if (!isStoreAnswer(error)) failure = error;
    return retryWrite(deps, prepare(), { error, plan });
  });
  return new Promise((resolve, reject) => {
    const cancel = storeDeadline(deps, () => {
      const late = new Unanswered(failure ?? new NoAnswer(storeWaitMs), outcome.then(noop, noop));
      health.noteFailure(late);
      (lateness?.onLate ?? reject)(late);
    });
    outcome.then(
      (stored) => {
        cancel();
        resolve(stored);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}

// After a failure it is unknown whether the write took effect, so the head is read first.
async function retryWrite(
  deps: LiveTaskDeps,
  write: Write,
  { error: first, plan }: { readonly error: unknown; readonly plan: RetryPlan },
): Promise<Outcome> {
  const pauseAfter = (error: unknown, failures: number): number | undefined => {
    const pauseMs = write.task.closed ? undefined : plan.pauseAfter(error, failures);
    if (pauseMs !== undefined && failures === 1) {
      deps.logger.warn({ taskId: write.task.id, err: error }, "the task store failed, the turn waits");
    }
    return pauseMs;
  };
  const run = async () => (await findOutcome(deps, write)) ?? (await attemptAgain(deps, write));
  try {
    return await retryAfter(first, run, { ...plan, pauseAfter });
  } catch (error) {
    // The task may exist already, created by another process that had presumed this one dead.
    if (isStoreAnswer(error) && write.fence.key === undefined) return resolveRefusal(deps, write, error);
    throw error;
  }
}

// A failed write may still arrive, and then it causes the refusal of the next one.
async function attemptAgain(deps: LiveTaskDeps, write: Write): Promise<Outcome> {
  try {
    const outcome = await attempt(deps, write);
    return outcome.result === "stored" ? outcome : ((await findOutcome(deps, write)) ?? outcome);
  } catch (error) {
    const late = isStoreAnswer(error) ? await findOutcome(deps, write) : undefined;
    if (late === undefined) throw error;
    return late;
  }
}

async function resolveRefusal(deps: LiveTaskDeps, write: Write, error: unknown): Promise<Outcome> {
  const earlier = await findOutcome(deps, write);
  if (earlier !== undefined) return earlier;
  const { scope, name } = write.task;
  const isTaken = name !== undefined && (await deps.store.taskNamed(scope, name)) !== undefined;
  throw isTaken ? new NameTaken(error) : error;
}

async function attempt(deps: LiveTaskDeps, { task, fence, claim, body }: Write): Promise<Outcome> {
  const { store, lease, instance: holder } = deps;
  const { key, epoch, seq } = fence;
  // A task held by an instance without a valid lease would be taken over at once.
  const renewal = key === undefined || claim !== undefined ? lease.renewIfLapsed() : undefined;
  if (renewal !== undefined) await renewal;
  if (key !== undefined) {
    const holderClaim = claim === undefined ? undefined : { holder, turn: claim.turn };
    return { result: await store.append({ ...body, key, epoch, seq, claim: holderClaim }) };
  }
  const { status = { state: TaskState.SUBMITTED, time: 0 }, ...rest } = body;
  const { id, contextId, scope, version, name } = task;
  return {
    result: "stored",
    head: await store.create({ ...rest, status, id, contextId, scope, version, name, holder }),
  };
}

// The records after the fence show whether this write put them there. If a new task's log differs from what we wrote,
// another process created it or took it over.
function findOutcome(deps: LiveTaskDeps, write: Write): Promise<Outcome | undefined> {
  const { key } = write.fence;
  return key === undefined ? findCreated(deps.store, write) : findAppended(deps, key, write);
}

async function findCreated(store: TaskStore, { task, body: { records } }: Write): Promise<Outcome | undefined> {
  const head = await store.head(task.scope, task.id);
  if (head === undefined) return undefined;
  const isAlone = head.epoch === 1 && head.seq === records.length;
  const page = isAlone ? await store.recordsAfter(head.key, 0, records.length) : undefined;
  const matches = typeof page === "object" && isSameWrite(records, page.records);
  return { result: matches ? "stored" : "fenced", head };
}

async function findAppended(
  { store, instance }: LiveTaskDeps,
  key: number,
  write: Write,
): Promise<Outcome | undefined> {
  const { fence, claim, body } = write;
  const page = await store.recordsAfter(key, fence.seq, body.records.length);
  if (page === undefined || page === "compacted") return undefined;
  if (page.head.epoch !== fence.epoch + (claim === undefined ? 0 : 1)) return undefined;
  // Restart claims look the same in every process, and a parking write may have no record: the holder decides.
  if (page.head.holder !== (body.end === undefined ? instance : "")) return undefined;
  return isSameWrite(body.records, page.records) ? { result: "stored" } : undefined;
}

function isSameWrite(records: readonly LogRecord[], storedRecords: readonly LogRecord[]): boolean {
  return (
    records.length === storedRecords.length && records.every((record, index) => isSame(record, storedRecords[index]))
  );
}

// Enough to distinguish the writes of one epoch from those of another process or send that claimed the same epoch.
function isSame(record: LogRecord, storedRecord: LogRecord | undefined): boolean {
  if (record.kind === "message" && storedRecord?.kind === "message") return record.entry === storedRecord.entry;
  if (record.kind === "turnStarted" && storedRecord?.kind === "turnStarted")
    return record.attempt === storedRecord.attempt;
  return record.kind === storedRecord?.kind;
}
