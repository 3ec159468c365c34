import { noop } from "../../protocol/async/noop.js";
import type { A2AError } from "../../protocol/errors.js";
import { type CopyOptions, copyTask } from "../../protocol/fold.js";
import type { Message, SendMessageResponse, Task } from "../../protocol/model.js";
import { TurnAborted } from "../agent.js";
import type { LogRecord } from "../ports.js";
import { publicFailure } from "../store-failure.js";
import type { LiveTask, RecordObserver } from "../task/live-task.js";
import type { OutcomeReceiver } from "../turn-start.js";
import type { SendGate } from "./gate.js";

/**
 * The outcome of a send whose turn ran in this process; the live task if the turn ended without an answer or moved
 * elsewhere.
 */
export type SendOutcome = SendMessageResponse | { readonly live: LiveTask };

/** Waits for the answer of one send and gets it the moment it is stored. */
export class SendWait implements OutcomeReceiver, RecordObserver {
  readonly outcome: Promise<SendOutcome>;
  readonly #gate: SendGate;
  readonly #shown: CopyOptions;
  #live: LiveTask | undefined;
  #resolve: (outcome: SendOutcome) => void = noop;
  #reject: (error: unknown) => void = noop;

  constructor(gate: SendGate, shown: CopyOptions) {
    this.#gate = gate;
    this.#shown = shown;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  reply(message: Message): void {
    this.#resolve(messageResponse(message));
  }

  fail(error: A2AError): void {
    this.close();
    this.#reject(error);
  }

  task(live: LiveTask): void {
    this.#live = live;
    live.observe(this);
  }

  record(record: LogRecord, task: Task): void {
    const verdict = this.#gate.see(record);
    if (verdict === undefined) return;
    this.close();
    if (verdict === "answer") this.#resolve(taskResponse(copyTask(task, this.#shown)));
    else this.#reject(verdict.error);
  }

  onLeave(): void {
    const live = this.#live;
    // Parked, or running in another process: follow the log.
    if (live !== undefined && (live.failure === undefined || live.failure instanceof TurnAborted))
      this.#resolve({ live });
    else this.#reject(publicFailure(live?.failure));
  }

  close(): void {
    this.#live?.unobserve(this);
  }
}

export function taskResponse(task: Task): SendMessageResponse {
  return { $typeName: "lf.a2a.v1.SendMessageResponse", payload: { case: "task", value: task } };
}

export function messageResponse(message: Message): SendMessageResponse {
  return { $typeName: "lf.a2a.v1.SendMessageResponse", payload: { case: "message", value: message } };
}
