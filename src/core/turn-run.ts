import type { JsonValue } from "@bufbuild/protobuf";
import type { Principal, Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { AgentEvent } from "../protocol/events.js";
import { copyTask } from "../protocol/fold.js";
import { type Message, type Task, TaskState } from "../protocol/model.js";
import { isInterrupted } from "../protocol/states.js";
import { type AbortKind, TurnAborted } from "./agent.js";
import type { LiveTask } from "./live-task.js";
import { normalizeEvent } from "./normalize.js";
import type { InboxEntry, Park, QueuedSend, TurnCause } from "./ports.js";
import { runAgent } from "./run-agent.js";
import { type Runtime, shuttingDown } from "./runtime.js";
import { recordedError } from "./send-hold.js";
import { recordBytes } from "./size.js";
import { createTurn } from "./turn.js";
import { TurnInbox } from "./turn-inbox.js";
import { TurnPen } from "./turn-pen.js";

/** What a turn is started with. */
export interface TurnStart {
  readonly cause: TurnCause;
  readonly attempt: number;
  readonly principal: Principal;
  readonly scope: Scope;
  /** Id of the send that brought the message. */
  readonly entry: string;
  readonly send: QueuedSend;
  /** What the wake has brought that started the turn. */
  readonly wake?: JsonValue | undefined;
}

/** Who waits for what a turn without a task turns out to be: a message, a task, or an error. Called once. */
export interface Opening {
  /** A reply that is larger completes a task instead. Default: none is. */
  readonly replyMaxBytes?: number | undefined;
  reply(message: Message): void;
  live(task: LiveTask): void;
  failed(error: A2AError): void;
}

/** A new turn: of a task that may come to be, or of one that was claimed. */
export type TurnSubject =
  | {
      readonly taskId: string;
      readonly contextId: string;
      readonly version: string;
      /** What the caller calls the task: then there is one whatever the agent says, and before it says anything. */
      readonly name: string | undefined;
      readonly opening: Opening;
    }
  | { readonly live: LiveTask };

/** The kernel of a turn: runs the agent, takes what it emits in order, stops it when told so, and ends the turn. */
export class TurnRun {
  readonly taskId: string;
  readonly contextId: string;
  readonly scope: Scope;
  readonly runtime: Runtime;
  readonly start: TurnStart;
  /** The task as it stood when the turn began. */
  readonly before: Task | undefined;
  message: Message;
  /** Set once the turn is told to stop. */
  aborted: TurnAborted | undefined;
  readonly inbox: TurnInbox;
  readonly #subject: TurnSubject;
  readonly #pen: TurnPen;
  #controller: AbortController | undefined;
  #abortPending = false;
  #waits: Set<(reason: unknown) => void> | undefined;
  /** Settles when all events that wait for room have been accepted. */
  #line: Promise<void> | undefined;
  /** Nothing was emitted, and no task made for that reason, since the turn began. */
  #silent = true;
  #concluded = false;
  #timers: (() => void)[] = [];

  constructor(runtime: Runtime, start: TurnStart, subject: TurnSubject) {
    this.runtime = runtime;
    this.start = start;
    this.scope = start.scope;
    this.message = start.send.message;
    this.#subject = subject;
    const { taskId, contextId } = "live" in subject ? { ...subject.live, taskId: subject.live.id } : subject;
    this.taskId = taskId;
    this.contextId = contextId;
    const live = "live" in subject ? subject.live : undefined;
    if (live !== undefined) this.#follow(live);
    this.before = live === undefined ? undefined : copyTask(live.task);
    this.inbox = new TurnInbox(this);
    this.#pen = new TurnPen(runtime, start, subject, (made) => {
      this.#follow(made);
      this.inbox.watch(made);
    });
  }

  /** The task, once there is one. */
  get live(): LiveTask | undefined {
    return this.#pen.live;
  }

  /** Aborts when the turn is told to stop. Made when first asked for. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted !== undefined) this.#controller.abort(this.aborted);
    }
    return this.#controller.signal;
  }

  /** Starts the agent. With `makeTask` the caller gets a task even before the agent says something. */
  run(makeTask: "at once" | "next" | "later"): void {
    const { clock, limits } = this.runtime;
    this.runtime.turns.enter(this);
    if (this.live !== undefined) this.inbox.watch(this.live);
    if (makeTask === "at once") this.#makeTask();
    else if (makeTask === "next") setImmediate(() => this.#makeTask());
    else this.#timers.push(clock.after(limits.taskAfterMs, () => this.#makeTask()));
    if (limits.turnDeadlineMs !== undefined) {
      this.#timers.push(clock.after(limits.turnDeadlineMs, () => this.abort("DeadlineExceeded")));
    }
    void this.#run();
  }

  async #run(): Promise<void> {
    try {
      const named = "opening" in this.#subject && this.#subject.name !== undefined;
      if (named && !(await this.#hasItsName())) return this.#conclude(undefined);
      await runAgent(this.runtime.agent, createTurn(this), this);
      // An agent that did not wait for its events has said them all the same.
      while (this.#line !== undefined) await this.#line;
    } catch (error) {
      return this.#conclude({ error });
    }
    return this.#conclude(undefined);
  }

  // Another task may get the name at the same moment: then the message goes there, and no agent hears of it here.
  async #hasItsName(): Promise<boolean> {
    await this.live?.flushed();
    return this.aborted === undefined;
  }

  /** Accepts an event: at once (`undefined`), or when the promise resolves. Throws for an event that is not the turn's. */
  emit(event: AgentEvent): Promise<void> | undefined {
    const refusal = this.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    const room = this.#line ?? this.live?.room();
    return room === undefined ? this.#accept(event) : this.#standInLine(event, room);
  }

  // Events of an agent that does not wait for them wait here, in the order of their coming.
  #standInLine(event: AgentEvent, first: Promise<void>): Promise<void> {
    const emitted = this.#waitInLine(event, first);
    const line = emitted.then(noop, noop).finally(() => {
      if (this.#line === line) this.#line = undefined;
    });
    this.#line = line;
    return emitted;
  }

  async #waitInLine(event: AgentEvent, first: Promise<void>): Promise<void> {
    for (let room: Promise<void> | undefined = first; room !== undefined; room = this.live?.room()) {
      await this.orAborted(room);
    }
    return this.#accept(event);
  }

  #accept(event: AgentEvent): Promise<void> | undefined {
    if (this.#pen.closed || this.#concluded) {
      this.runtime.logger.debug({ taskId: this.taskId }, "an event behind the end of the turn was dropped");
      return undefined;
    }
    const normal = normalizeEvent(event, this.#pen.identity);
    this.#silent = false;
    return this.#pen.write(normal);
  }

  /** Resolves when everything emitted so far is stored, also what still waits for room. */
  async flushed(): Promise<void> {
    await this.#line;
    await this.live?.flushed();
  }

  /** False once the turn has ended, or was cut off. */
  alive(): boolean {
    return !this.#concluded;
  }

  /** True once a reply or a terminal event was emitted. */
  get answered(): boolean {
    return this.#pen.closed;
  }

  /** Why nothing is accepted now: told once after an abort, and always after the turn was cut off. */
  refusal(): unknown {
    if (this.aborted === undefined) return undefined;
    if (!this.#abortPending && !this.#concluded) return undefined;
    this.#abortPending = false;
    return this.aborted;
  }

  /** Waits for something, unless the turn is told to stop first, or cut off. */
  orAborted<T>(wait: Promise<T>): Promise<T> {
    const refusal = this.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    this.#waits ??= new Set();
    const waits = this.#waits;
    return new Promise((resolve, reject) => {
      waits.add(reject);
      wait.then(resolve, reject).finally(() => waits.delete(reject));
    });
  }

  // Those who wait are told of an abort; else it is told to whoever asks next.
  #rejectWaits(reason: unknown): boolean {
    const waits = [...(this.#waits ?? [])];
    this.#waits?.clear();
    for (const reject of waits) reject(reason);
    return waits.length > 0;
  }

  /** Tells the agent to stop. What it emits while it unwinds is stored; after the grace it is cut off. */
  abort(kind: AbortKind): void {
    if (this.aborted !== undefined || this.#concluded) return;
    this.aborted = new TurnAborted(kind);
    this.#abortPending = !this.#rejectWaits(this.aborted);
    this.#controller?.abort(this.aborted);
    if (kind === "OwnershipLost") {
      void this.#conclude(undefined);
      return;
    }
    this.#timers.push(this.runtime.clock.after(this.runtime.limits.graceMs, () => void this.#conclude(undefined)));
  }

  /** The task, made now if there is none yet: a turn that waits for a message must be there to be sent one. */
  ensureTask(): LiveTask {
    // What was made for the agent is no longer as it was before the turn.
    if (this.live === undefined) this.#silent = false;
    return this.#pen.ensureTask();
  }

  /** Takes a waiting message into the turn. False when it was withdrawn meanwhile. */
  async take(live: LiveTask, entry: InboxEntry, send: QueuedSend): Promise<boolean> {
    if (!(await this.#pen.take(live, entry, send))) return false;
    this.#silent = false;
    this.message = send.message;
    return true;
  }

  #makeTask(): void {
    if (this.#concluded || this.#pen.closed || !this.#silent) return;
    this.#silent = false;
    this.#pen.makeTask();
  }

  // A task that was given up takes its turn with it; one that has ended gets no more messages.
  #follow(live: LiveTask): void {
    live.onClose = () => {
      if (live.failure === undefined) this.inbox.close();
      else this.abort("OwnershipLost");
    };
  }

  async #conclude(failure: { readonly error: unknown } | undefined): Promise<void> {
    if (this.#concluded) return;
    this.#concluded = true;
    for (const cancel of this.#timers.splice(0)) cancel();
    // An error is made only for somebody who waits: its stack costs more than all the rest of a short turn.
    if (this.#waits !== undefined && this.#waits.size > 0)
      this.#rejectWaits(this.aborted ?? new TypeError("the turn has ended"));
    this.inbox.close();
    try {
      await this.#end(failure);
    } catch (error) {
      if (!(error instanceof TurnAborted))
        this.runtime.logger.error({ taskId: this.taskId, error }, "a turn could not be ended");
      this.live?.abandon(error);
      if (this.live === undefined && "opening" in this.#subject) {
        this.#subject.opening.failed(new A2AError("internalError", "internal error", { cause: error }));
      }
    } finally {
      if (this.live?.closed === true && this.runtime.live.get(this.taskId) === this.live)
        this.runtime.live.delete(this.taskId);
      this.runtime.turns.leave(this);
    }
  }

  async #end(failure: { readonly error: unknown } | undefined): Promise<void> {
    const { parked } = this.#pen;
    if (parked !== undefined && failure === undefined && this.#mayPark()) return this.#endParked(parked);
    if (parked === undefined && this.#pen.closed) return this.live?.flushed();
    if (this.aborted !== undefined) return this.#endAborted(this.aborted.kind);
    if (failure !== undefined) return this.#endFailed(failure.error);
    if (this.live !== undefined && this.#pen.stopped) return this.inbox.endTurn(this.live, [{ kind: "turnEnded" }]);
    return this.#pen.end(TaskState.COMPLETED);
  }

  async #endAborted(kind: AbortKind): Promise<void> {
    if (kind === "OwnershipLost") return this.live?.abandon(this.aborted);
    if (kind === "Canceled") return this.#pen.end(TaskState.CANCELED);
    if (kind === "DeadlineExceeded") return this.#pen.end(TaskState.FAILED, "the turn took longer than it may");
    // Asked for while the turn was told to stop anyway.
    if (await this.inbox.holdsCancel()) return this.cancelNow();
    if (this.live !== undefined && this.runtime.restartable) return this.#release(this.live);
    if (this.live !== undefined)
      return this.#pen.end(TaskState.FAILED, "the server was shut down before the task was done");
    if ("opening" in this.#subject) {
      this.#subject.opening.failed(shuttingDown());
    }
  }

  #mayPark(): boolean {
    return this.aborted === undefined || this.aborted.kind === "Draining";
  }

  // The record does not say that the turn has ended: whoever waits for its answer goes on waiting.
  async #endParked(park: Park): Promise<void> {
    if (this.live === undefined) return;
    await this.inbox.endTurn(this.live, [{ kind: "turnParked" }], park);
    if (park.wakeAt !== undefined) this.runtime.alarm.at(park.wakeAt);
  }

  // The task stays with this process, which goes: then others run its turn again.
  async #release(live: LiveTask): Promise<void> {
    await live.exclusive([{ kind: "turnReleased" }], recordBytes, {});
    live.abandon(this.aborted);
  }

  async #endFailed(error: unknown): Promise<void> {
    if (!(error instanceof A2AError)) return this.#pen.end(TaskState.FAILED, this.#mask(error));
    if (error.code === "invalidAgentResponse") {
      this.runtime.logger.error({ taskId: this.taskId, error }, "the agent emitted what cannot be sent");
    }
    if (!this.#silent) return this.#pen.end(TaskState.FAILED, error.message);
    if (this.live !== undefined) return this.#refuse(this.live, error);
    if ("opening" in this.#subject) this.#subject.opening.failed(error);
  }

  // The task stays as it was before the message: parked, or waiting for its caller. A turn without a message has nobody to
  // refuse.
  #refuse(live: LiveTask, error: A2AError): Promise<void> {
    const wasParked = !isInterrupted(live.state);
    if (wasParked && this.start.cause !== "message") return this.#pen.end(TaskState.FAILED, error.message);
    const ended = [{ kind: "turnEnded", error: recordedError(error) }] as const;
    return this.inbox.endTurn(live, ended, wasParked ? { wakeAt: live.wakeAt } : undefined);
  }

  /** Ends a task that was asked to be canceled while its turn was ending. */
  cancelNow(): Promise<void> {
    return this.#pen.end(TaskState.CANCELED);
  }

  #mask(error: unknown): string {
    const reference = this.runtime.newId();
    this.runtime.logger.error({ taskId: this.taskId, reference, error }, "the agent failed");
    return `the agent failed (reference ${reference})`;
  }
}

const noop = (): void => {};

/** True for a send whose caller needs a task from the start. */
export function hasInline(configuration: QueuedSend["configuration"]): boolean {
  return configuration?.taskPushNotificationConfig !== undefined;
}
