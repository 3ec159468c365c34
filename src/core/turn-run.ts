import type { Principal, Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { type AgentEvent, reply } from "../protocol/events.js";
import { type Message, type StreamResponse, type Task, TaskState } from "../protocol/model.js";
import { isInterrupted, isStop, isTerminal } from "../protocol/states.js";
import { type AbortKind, TurnAborted } from "./agent.js";
import { copyTask } from "./fold.js";
import { type Draft, LiveTask, messageDraft, tooLarge } from "./live-task.js";
import { type Identity, normalizeEvent, statusUpdate } from "./normalize.js";
import type { InboxEntry, QueuedSend, TurnCause } from "./ports.js";
import { runAgent } from "./run-agent.js";
import type { Runtime } from "./runtime.js";
import { replacedBytes, sizeOfEvent, sizeOfMessage } from "./size.js";
import { createTurn } from "./turn.js";
import { TurnInbox } from "./turn-inbox.js";

/** What a turn is started with. */
export interface TurnStart {
  readonly cause: TurnCause;
  readonly attempt: number;
  readonly principal: Principal;
  readonly scope: Scope;
  /** Id of the send that brought the message. */
  readonly entry: string;
  readonly send: QueuedSend;
}

/** Who waits for what a turn without a task turns out to be: a message, a task, or an error. Called once. */
export interface Opening {
  reply(message: Message): void;
  live(task: LiveTask): void;
  failed(error: A2AError): void;
}

/** A new turn: of a task that may come to be, or of one that was claimed. */
export type TurnSubject =
  | { readonly taskId: string; readonly contextId: string; readonly version: string; readonly opening: Opening }
  | { readonly live: LiveTask };

const recordBytes = 64;

/** The kernel of a turn: takes what the agent emits, writes it through the live task, and ends the turn. */
export class TurnRun {
  readonly taskId: string;
  readonly contextId: string;
  readonly scope: Scope;
  readonly runtime: Runtime;
  readonly start: TurnStart;
  /** The task as it stood when the turn began. */
  readonly before: Task | undefined;
  message: Message;
  live: LiveTask | undefined;
  /** Set once the turn is told to stop. */
  aborted: TurnAborted | undefined;
  readonly inbox: TurnInbox;
  readonly #subject: TurnSubject;
  readonly #identity: Identity;
  #controller: AbortController | undefined;
  #abortPending = false;
  readonly #waits = new Set<(reason: unknown) => void>();
  /** Settles when all events that wait for room have been accepted. */
  #line: Promise<void> | undefined;
  #keyed: Map<object, string> | undefined;
  #ordinal = 0;
  /** Nothing was emitted, and no task made for that reason, since the turn began. */
  #silent = true;
  /** A status stands before whatever comes next: WORKING on a continued task. */
  #needsWorking: boolean;
  /** The last status since the last message was taken is one that answers a send. */
  #stopped = false;
  /** A reply or a terminal event was emitted: what comes now is dropped. */
  #closed = false;
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
    if ("live" in subject) this.#follow(subject.live);
    this.before = this.live === undefined ? undefined : copyTask(this.live.task);
    this.#needsWorking = this.live !== undefined;
    this.inbox = new TurnInbox(this);
    this.#identity = {
      taskId,
      contextId,
      newId: runtime.newId,
      artifactId: (key) => this.#artifactId(key),
    };
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
      await runAgent(this.runtime.agent, createTurn(this), this);
      // An agent that did not wait for its events has said them all the same.
      while (this.#line !== undefined) await this.#line;
    } catch (error) {
      return this.#conclude({ error });
    }
    return this.#conclude(undefined);
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
    if (this.#closed || this.#concluded) return this.#drop();
    const normal = normalizeEvent(event, this.#identity);
    this.#silent = false;
    if (normal.kind === "reply") return this.#emitReply(normal.message);
    if (normal.kind === "status") return this.#emitStatus(normal.state, normal.event);
    const bytes = this.#sized(normal.event);
    const { live, prelude } = this.#open(false);
    const drafts: readonly Draft[] = [...prelude, { kind: "event", event: normal.event }];
    const size = bytes + drafts.length * recordBytes;
    if (normal.lastChunk) return live.addStored(drafts, size);
    live.add(drafts, size);
    return undefined;
  }

  /** False once the turn has ended, or was cut off. */
  alive(): boolean {
    return !this.#concluded;
  }

  /** True once a reply or a terminal event was emitted. */
  get answered(): boolean {
    return this.#closed;
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
    return new Promise((resolve, reject) => {
      this.#waits.add(reject);
      wait.then(resolve, reject).finally(() => this.#waits.delete(reject));
    });
  }

  // Those who wait are told of an abort; else it is told to whoever asks next.
  #rejectWaits(reason: unknown): boolean {
    const waits = [...this.#waits];
    this.#waits.clear();
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
    const { live, prelude } = this.#open(true);
    if (prelude.length > 0) live.add(prelude, prelude.length * recordBytes);
    return live;
  }

  /** Takes a waiting message into the turn: one write of its own, which is refused when it was withdrawn meanwhile. */
  async take(live: LiveTask, entry: InboxEntry, send: QueuedSend): Promise<boolean> {
    const drafts: Draft[] = [messageDraft(live, entry.id, send.message)];
    const { state } = live;
    if (isInterrupted(state)) drafts.push(this.#statusDraft(live, TaskState.WORKING));
    const result = await live.exclusive(drafts, sizeOfMessage(send.message) + recordBytes, { takes: [entry.id] });
    if (result !== "stored") {
      if (live.state === TaskState.WORKING) live.state = state;
      return false;
    }
    live.principals.delete(entry.id);
    this.message = send.message;
    this.#stopped = false;
    this.#needsWorking = false;
    return true;
  }

  // A task that was given up takes its turn with it; one that has ended gets no more messages.
  #follow(live: LiveTask): void {
    this.live = live;
    live.onClose = () => {
      if (live.failure === undefined) this.inbox.close();
      else this.abort("OwnershipLost");
    };
  }

  #makeTask(): void {
    if (this.#concluded || this.#closed || !this.#silent) return;
    this.#silent = false;
    const { live, prelude } = this.#open(false);
    if (prelude.length > 0) live.add(prelude, prelude.length * recordBytes);
  }

  // The live task, and what has to be written before the next event: how the task began, or that it is worked on again.
  #open(isStatus: boolean): { readonly live: LiveTask; readonly prelude: readonly Draft[] } {
    if (this.live !== undefined) {
      const prelude = this.#needsWorking && !isStatus ? [this.#statusDraft(this.live, TaskState.WORKING)] : [];
      if (prelude.length > 0) this.#needsWorking = false;
      return { live: this.live, prelude };
    }
    if (!("opening" in this.#subject)) throw new TypeError("a continued turn has its task");
    const { taskId: id, contextId, version, opening } = this.#subject;
    const live = new LiveTask(this.runtime, { id, contextId, scope: this.scope, version });
    this.#follow(live);
    live.turn = 1;
    this.runtime.live.set(id, live);
    this.inbox.watch(live);
    opening.live(live);
    const prelude: Draft[] = [
      { kind: "turnStarted", turn: 1, attempt: this.start.attempt, cause: this.start.cause },
      messageDraft(live, this.start.entry, this.message),
      this.#statusDraft(live, TaskState.SUBMITTED),
    ];
    return { live, prelude };
  }

  #emitReply(message: Message): Promise<void> | undefined {
    if (this.live !== undefined) {
      return this.#emitStatus(TaskState.COMPLETED, statusUpdate(TaskState.COMPLETED, this.#identity, message));
    }
    const { eventMaxBytes } = this.runtime.limits;
    if (sizeOfMessage(message) > eventMaxBytes) throw tooLarge("the message", eventMaxBytes);
    this.#closed = true;
    if ("opening" in this.#subject) this.#subject.opening.reply(message);
    return undefined;
  }

  #emitStatus(state: TaskState, event: StreamResponse): Promise<void> {
    const bytes = this.#sized(event);
    const { live, prelude } = this.#open(true);
    if (live.task.history.length >= this.runtime.limits.historyMaxMessages) {
      throw new A2AError(
        "resourceExhausted",
        `the history is at the limit of ${this.runtime.limits.historyMaxMessages} messages`,
      );
    }
    return this.#addStatus(live, prelude, state, event, bytes);
  }

  #addStatus(
    live: LiveTask,
    prelude: readonly Draft[],
    state: TaskState,
    event: StreamResponse,
    bytes: number,
  ): Promise<void> {
    this.#needsWorking = false;
    this.#stopped = isStop(state);
    live.state = state;
    const drafts: Draft[] = [...prelude, { kind: "event", event }];
    const size = bytes + drafts.length * recordBytes;
    if (!isTerminal(state)) return live.addStored(drafts, size);
    this.#closed = true;
    drafts.push({ kind: "turnEnded" });
    return live.addStored(drafts, size, { end: { inboxPut: 0 } });
  }

  #sized(event: StreamResponse): number {
    const { eventMaxBytes, taskMaxBytes } = this.runtime.limits;
    const bytes = sizeOfEvent(event);
    if (bytes > eventMaxBytes) throw tooLarge("the event", eventMaxBytes);
    if (this.live?.grow(bytes - replacedBytes(this.live.task, event)) === false)
      throw tooLarge("the task", taskMaxBytes);
    return bytes;
  }

  #statusDraft(live: LiveTask, state: TaskState): Draft {
    live.state = state;
    return { kind: "event", event: statusUpdate(state, this.#identity) };
  }

  #artifactId(key: object | undefined): string {
    const known = key === undefined ? undefined : this.#keyed?.get(key);
    if (known !== undefined) return known;
    const made = `${this.live?.turn ?? 1}.${++this.#ordinal}`;
    if (key !== undefined) {
      this.#keyed ??= new Map();
      this.#keyed.set(key, made);
    }
    return made;
  }

  #drop(): undefined {
    this.runtime.logger.debug({ taskId: this.taskId }, "an event behind the end of the turn was dropped");
    return undefined;
  }

  async #conclude(failure: { readonly error: unknown } | undefined): Promise<void> {
    if (this.#concluded) return;
    this.#concluded = true;
    for (const cancel of this.#timers.splice(0)) cancel();
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
    if (this.#closed) return this.live?.flushed();
    if (this.aborted !== undefined) return this.#endAborted(this.aborted.kind);
    if (failure !== undefined) return this.#endFailed(failure.error);
    if (this.live !== undefined && this.#stopped) return this.inbox.endTurn(this.live, { kind: "turnEnded" });
    return this.#endIn(TaskState.COMPLETED);
  }

  async #endAborted(kind: AbortKind): Promise<void> {
    if (kind === "OwnershipLost") return this.live?.abandon(this.aborted);
    if (kind === "Canceled") return this.#endIn(TaskState.CANCELED);
    if (kind === "DeadlineExceeded") return this.#endIn(TaskState.FAILED, "the turn took longer than it may");
    if (this.live !== undefined)
      return this.#endIn(TaskState.FAILED, "the server was shut down before the task was done");
    if ("opening" in this.#subject) {
      this.#subject.opening.failed(new A2AError("unavailable", "the server is shutting down", { retryAfterMs: 1000 }));
    }
  }

  async #endFailed(error: unknown): Promise<void> {
    if (!(error instanceof A2AError)) return this.#endIn(TaskState.FAILED, this.#mask(error));
    if (error.code === "invalidAgentResponse") {
      this.runtime.logger.error({ taskId: this.taskId, error }, "the agent emitted what cannot be sent");
    }
    if (!this.#silent) return this.#endIn(TaskState.FAILED, error.message);
    if (this.live !== undefined) {
      return this.inbox.endTurn(this.live, { kind: "turnEnded", error: { code: error.code, message: error.message } });
    }
    if ("opening" in this.#subject) this.#subject.opening.failed(error);
  }

  /** Ends the turn in a terminal state: one write, which no inbox can hold up. */
  async #endIn(state: TaskState, text?: string): Promise<void> {
    const message = text === undefined ? undefined : reply(text);
    const { live, prelude } = this.#open(true);
    await this.#addStatus(live, prelude, state, statusUpdate(state, this.#identity, message), recordBytes);
  }

  /** Ends a task that was asked to be canceled while its turn was ending. */
  cancelNow(): Promise<void> {
    return this.#endIn(TaskState.CANCELED);
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
