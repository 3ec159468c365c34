import { noop } from "../../protocol/async/noop.js";
import { retry } from "../../protocol/async/retry.js";
import { A2AError, errorTable } from "../../protocol/errors.js";
import type { Message } from "../../protocol/model.js";
import { NameTaken } from "../../protocol/task-names.js";
import { abandonSend } from "../ownership/abandoned-sends.js";
import type { LogRecord, SendRecord, SentOutcome } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { isStoreAnswer, maskStoreFailure, storeRetries, Unanswered, waitForStore } from "../store-failure.js";
import type { LiveTask } from "../task/live-task.js";
import { recordError } from "../task/record.js";
import type { OutcomeReceiver } from "../turn-start.js";

// The record of an idempotent send while this process handles it.
//
//   entered ── its turn starts, or its message reaches the task ──▶ started ── outcome ──▶ settled: reply, error or task
//      │                                                               └── no task came of it ──▶ released
//      └── it fails before that ──▶ deleted, or released where it is unknown what the store has
//
// A released record names no process: the next send with its message id takes it over, as another attempt. While a write
// without an answer may still arrive, the entry stays in `runtime.sending` and repeats wait.
//
// Invariant: an outcome is stored before it is answered, and one process at a time runs the agent for a record.
//
// The record has scope, message id, digest and the ids that a new task will have, so a late process fails at the
// uniqueness of `create`. `send.ts` makes and finds it.

/** An idempotent send that this process handles. Keeps the record of the send current. */
export class IdempotencyClaim {
  readonly record: SendRecord;
  readonly #runtime: Runtime;
  #isStarted = false;

  constructor(runtime: Runtime, record: SendRecord) {
    this.#runtime = runtime;
    this.record = record;
  }

  /** Marks the send as being handled by this process until it has an outcome, even if the lease lapses. */
  enter(): this {
    this.#runtime.sending.add(this.record.entry);
    return this;
  }

  /** From now on the turn, or the task's log, determines the outcome. */
  start(): void {
    this.#isStarted = true;
  }

  /** The message reached its task. Recorded without waiting, for when the task is gone. */
  noteReached(): void {
    this.#isStarted = true;
    this.#leave();
    recordTask(this.#runtime, this.record);
  }

  /** Must be called with an error that ends the send before its turn has begun: the record is deleted or released. */
  async fail(error: unknown): Promise<void> {
    if (this.#isStarted) return;
    await (isStoreAnswer(error) ? this.forget() : this.#releaseAfter(error));
  }

  /** The message was refused, or may be sent again as if for the first time. */
  async forget(): Promise<void> {
    // If the agent has run before, it may still write to the reserved task id.
    if (this.record.attempt > 1 && this.record.seq === 0) return this.#release();
    return this.#delete();
  }

  async #delete(): Promise<void> {
    await this.#runtime.store.forgetSend(this.record).catch(() => this.#giveUp());
    this.#leave();
  }

  /** Wraps the opening of a turn so that the outcome is stored before it is answered. */
  keepOutcome(receiver: OutcomeReceiver): OutcomeReceiver {
    const { keptReplyMaxBytes, storeRetryMs } = this.#runtime.limits;
    return {
      // A process that took the send over must not reply while another one creates the task: only creating a task is
      // exclusive.
      replyMaxBytes: this.record.attempt > 1 ? 0 : keptReplyMaxBytes,
      reply: (message, bytes) => {
        this.#reply(message, bytes).then(
          () => receiver.reply(message, bytes),
          (error: A2AError) => receiver.fail(error),
        );
      },
      fail: (error) => void this.#error(error).finally(() => receiver.fail(error)),
      task: (live) => {
        // A repeat of the send attaches to the task, so the turn outlives this call.
        live.mayBeLate({ onLate: (late) => receiver.fail(late), retryMs: storeRetryMs });
        this.#follow(live);
        receiver.task(live);
      },
    };
  }

  async #reply(message: Message, bytes: number): Promise<void> {
    let isKept: boolean;
    try {
      isKept = await waitForStore(this.#runtime, this.#settle({ kind: "reply", message }, bytes));
    } catch (error) {
      throw maskStoreFailure(error);
    }
    if (isKept) return;
    throw new A2AError("unavailable", "the reply could not be stored: send the message again", { retryAfterMs: 1000 });
  }

  async #error(error: A2AError): Promise<void> {
    // An error that means "not now" is not recorded, so the message may be retried.
    if (errorTable[error.code].retry !== "no") return this.forget();
    const errorRecord = recordError(error);
    const bytes = JSON.stringify(errorRecord).length;
    await waitForStore(this.#runtime, this.#settle({ kind: "error", error: errorRecord }, bytes)).catch(noop);
  }

  // Records the outcome, or frees the record.
  async #settle(outcome: SentOutcome, bytes: number): Promise<boolean> {
    const { store, limits } = this.#runtime;
    const settle = (): Promise<boolean> => store.settleSend(this.record, outcome, bytes);
    try {
      const isKept = await retry(settle, storeRetries(this.#runtime, limits.storeWaitMs));
      this.#leave();
      return isKept;
    } catch (error) {
      await this.#releaseAfter(error);
      throw error;
    }
  }

  // A write without an answer may still decide the send: repeats wait until it has ended.
  async #releaseAfter(error: unknown): Promise<void> {
    if (error instanceof Unanswered) void error.answer.then(() => this.#release());
    else await this.#release();
  }

  // A task that could not be created leaves its send to the next attempt.
  #follow(live: LiveTask): void {
    const observer = {
      record: (record: LogRecord): void => {
        if (record.kind !== "event") return;
        live.unobserve(observer);
        this.noteReached();
      },
      // Another task has the name, so the reserved task will never exist: the message goes there as a new send.
      onLeave: (): void => void (live.failure instanceof NameTaken ? this.#delete() : this.#release()),
    };
    live.observe(observer);
  }

  async #release(): Promise<void> {
    await this.#runtime.store.takeSend(this.record, "").catch(() => this.#giveUp());
    this.#leave();
  }

  #leave(): void {
    this.#runtime.sending.delete(this.record.entry);
    this.#runtime.watch.noteChange(this.record.taskId);
  }

  // A failed write may arrive late, and the store may be away for a while: the heartbeat frees the record.
  #giveUp(): void {
    abandonSend(this.#runtime, this.record);
  }
}

/** Records that a send reached its task. If that fails, the task itself shows it while it exists. */
export function recordTask(runtime: Runtime, record: SendRecord): void {
  const settle = (): Promise<boolean> => runtime.store.settleSend(record, { kind: "task" }, 0);
  retry(settle, storeRetries(runtime)).catch((error: unknown) => {
    runtime.logger.warn({ taskId: record.taskId, err: error }, "the record of a send could not be settled");
  });
}
