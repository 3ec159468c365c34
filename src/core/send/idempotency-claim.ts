import { retry } from "../../protocol/async/retry.js";
import { sizeOfMessage } from "../../protocol/check/size.js";
import { A2AError, type ErrorCode } from "../../protocol/errors.js";
import type { Message } from "../../protocol/model.js";
import { NameTaken } from "../../protocol/task-names.js";
import { giveUpSend } from "../ownership/abandoned-sends.js";
import type { LogRecord, SendClaim, SendRecord, SentOutcome } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { isAnswer, storeRetries } from "../store-failure.js";
import type { LiveTask } from "../task/live-task.js";
import { recordedError } from "../task/recorded-error.js";
import type { Opening } from "../turn-start.js";

/** Errors of an agent that say: not now. They are no answer to keep, so the message may be tried again. */
const passing: ReadonlySet<ErrorCode> = new Set(["unavailable", "resourceExhausted"]);

/** A send that shall be done once, in the hands of this process: keeps its record true to what becomes of it. */
export class IdempotencyClaim {
  readonly record: Pick<SendRecord, keyof SendClaim | "taskId" | "seq">;
  readonly #runtime: Runtime;
  #begun = false;

  constructor(runtime: Runtime, record: IdempotencyClaim["record"]) {
    this.#runtime = runtime;
    this.record = record;
  }

  /** This process works on the send, whatever the store thinks of its life, until it has come to something. */
  enter(): this {
    this.#runtime.sending.add(this.record.entry);
    return this;
  }

  /** From now on the turn, or the log of the task, says what becomes of the send. */
  begun(): void {
    this.#begun = true;
  }

  /** The message has reached its task. Recorded for the time when the task is gone, without a wait. */
  reached(): void {
    this.#begun = true;
    this.#leave();
    noteTask(this.#runtime, this.record);
  }

  /** To be told of an error with which the send ends before its turn has begun: it leaves no record, or is free again. */
  async failed(error: unknown): Promise<void> {
    if (this.#begun) return;
    await (isAnswer(error) ? this.forget() : this.#release());
  }

  /** The message was refused, or may be tried again as if it was never sent. */
  async forget(): Promise<void> {
    // Where the agent has run before, it may still write to the task that it was promised.
    if (this.record.attempt > 1 && this.record.seq === 0) return this.#release();
    return this.#delete();
  }

  async #delete(): Promise<void> {
    await this.#runtime.store.forgetSend(this.record).catch(() => this.#giveUp());
    this.#leave();
  }

  /** The opening of a turn that was begun for the send: its outcome is stored before it is answered. */
  keeping(opening: Opening): Opening {
    const { keptReplyMaxBytes } = this.#runtime.limits;
    return {
      // The process that took the send over must not reply while another one makes the task: a task is made only once.
      replyMaxBytes: this.record.attempt > 1 ? 0 : keptReplyMaxBytes,
      reply: (message) => {
        this.#reply(message).then(
          () => opening.reply(message),
          (error: A2AError) => opening.failed(error),
        );
      },
      failed: (error) => void this.#error(error).finally(() => opening.failed(error)),
      live: (live) => {
        this.#follow(live);
        opening.live(live);
      },
    };
  }

  async #reply(message: Message): Promise<void> {
    const reply: SentOutcome = { kind: "reply", message };
    const kept = await settle(this.#runtime, this.record, reply, sizeOfMessage(message)).catch(() => undefined);
    if (kept === undefined) await this.#release();
    this.#leave();
    if (kept === true) return;
    throw new A2AError("unavailable", "the reply could not be kept, send the message again", { retryAfterMs: 1000 });
  }

  async #error(error: A2AError): Promise<void> {
    if (passing.has(error.code)) await this.forget();
    else {
      const kept = recordedError(error);
      const bytes = JSON.stringify(kept).length;
      await settle(this.#runtime, this.record, { kind: "error", error: kept }, bytes).catch(() => this.#release());
      this.#leave();
    }
  }

  // A task that could not be created leaves its send to the next attempt.
  #follow(live: LiveTask): void {
    const observer = {
      record: (record: LogRecord): void => {
        if (record.kind !== "event") return;
        live.unobserve(observer);
        this.reached();
      },
      // Behind another task of its name the promised one will never be: the send goes there, as a new one.
      left: (): void => void (live.failure instanceof NameTaken ? this.#delete() : this.#release()),
    };
    live.observe(observer);
  }

  async #release(): Promise<void> {
    await this.#runtime.store.takeSend(this.record, "").catch(() => this.#giveUp());
    this.#leave();
  }

  #leave(): void {
    this.#runtime.sending.delete(this.record.entry);
    this.#runtime.watch.moved(this.record.taskId);
  }

  // A write that failed may arrive late, and the store may be gone for a while: the heartbeat sees to it.
  #giveUp(): void {
    giveUpSend(this.#runtime, this.record);
  }
}

/** Writes down that a send has reached its task. When that fails, the task itself shows it as long as it is there. */
export function noteTask(runtime: Runtime, record: IdempotencyClaim["record"]): void {
  settle(runtime, record, { kind: "task" }, 0).catch((error: unknown) => {
    runtime.logger.warn({ taskId: record.taskId, error }, "the record of a send could not be settled");
  });
}

function settle(runtime: Runtime, claim: SendClaim, outcome: SentOutcome, bytes: number): Promise<boolean> {
  return retry(() => runtime.store.settleSend(claim, outcome, bytes), storeRetries(runtime));
}
