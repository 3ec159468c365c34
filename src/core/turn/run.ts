import { monotonic } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import type { Scope } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import type { AgentEvent } from "../../protocol/events.js";
import { copyTask } from "../../protocol/fold.js";
import { type Logger, withFields } from "../../protocol/logger.js";
import { type Message, type Task, TaskState } from "../../protocol/model.js";
import { isInterrupted } from "../../protocol/states.js";
import type { TurnTrace } from "../../protocol/telemetry/follow.js";
import { type AbortKind, TurnAborted } from "../agent.js";
import type { InboxEntry, LogRecord } from "../ports.js";
import type { TurnMemory } from "../running-memory.js";
import type { Runtime } from "../runtime.js";
import type { LiveTask } from "../task/live-task.js";
import { normalizeEvent } from "../task/normalize.js";
import { stateOf } from "../task/record-state.js";
import { isPassed, type TurnStart, type TurnSubject } from "../turn-start.js";
import { type EndingTurn, endTurn } from "./end.js";
import { TurnInbox } from "./inbox.js";
import { outcomeOf } from "./outcome.js";
import { TurnState } from "./phase.js";
import { EarlierQuestions } from "./question.js";
import { runAgent } from "./run-agent.js";
import { isReply, stopsTurn } from "./stops-turn.js";
import { createTurn } from "./turn.js";
import { TurnWaits } from "./waits.js";
import { TurnWriter } from "./writer.js";

// A turn is one run of the agent, from its message to the end that is stored.

/** The kernel of a turn: runs the agent, accepts its events in order, aborts it, and ends the turn. */
export class TurnRun {
  readonly taskId: string;
  readonly contextId: string;
  readonly scope: Scope;
  readonly runtime: Runtime;
  readonly start: TurnStart;
  /** The task as of the start of the turn. */
  readonly before: Task | undefined;
  message: Message;
  readonly state = new TurnState();
  readonly inbox: TurnInbox;
  readonly subject: TurnSubject;
  readonly #writer: TurnWriter;
  #controller: AbortController | undefined;
  #waits: TurnWaits | undefined;
  /** Settles when all events that wait for room have been accepted. */
  #line: Promise<void> | undefined;
  #startedAt = 0;
  #earlierQuestions: EarlierQuestions | undefined;
  #memory: TurnMemory | undefined;
  #isCutOff = false;
  #timers: (() => void)[] = [];
  readonly #trace: TurnTrace | undefined;

  constructor(runtime: Runtime, start: TurnStart, subject: TurnSubject) {
    this.runtime = runtime;
    this.start = start;
    this.scope = start.scope;
    this.message = start.send.message;
    this.subject = subject;
    this.#writer = new TurnWriter(this, (task) => {
      this.#follow(task);
      this.inbox.watch(task);
    });
    ({ taskId: this.taskId, contextId: this.contextId } = this.#writer.identity);
    this.inbox = new TurnInbox(this);
    const { cause, attempt, trace, send, before } = start;
    const turn = { contextId: this.contextId, cause, attempt, before, parent: trace ?? send.trace };
    this.#trace = runtime.telemetry?.begin(turn);
    const { live } = this.#writer;
    if (live !== undefined) this.#follow(live);
    this.before = live === undefined ? undefined : copyTask(live.task);
  }

  /** The task, once it exists. */
  get live(): LiveTask | undefined {
    return this.#writer.live;
  }

  get bytes(): number {
    return this.live?.bytes ?? 0;
  }

  /** Its records carry the ids of the task, the context and the request. */
  get logger(): Logger {
    const { taskId, contextId, start } = this;
    const { requestId } = start;
    return withFields(this.runtime.logger, { taskId, contextId, ...(requestId === undefined ? {} : { requestId }) });
  }

  /** Aborts when the turn must stop. Created on first use. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.state.abortReason !== undefined) this.#controller.abort(this.state.abortReason);
    }
    return this.#controller.signal;
  }

  /** The caller's deadline counts only if it ends the turn: a turn that continues needs the answers to its calls. */
  leftMs(): number | undefined {
    const { clock, limits } = this.runtime;
    const { turnDeadlineMs = Number.POSITIVE_INFINITY } = limits;
    const { late, deadline = Number.POSITIVE_INFINITY } = this.start;
    const callerUntil = late === undefined ? Number.POSITIVE_INFINITY : deadline;
    const until = Math.min(this.#startedAt + turnDeadlineMs, callerUntil);
    return until === Number.POSITIVE_INFINITY ? undefined : Math.max(0, until - clock.now());
  }

  yields(resume: () => void): void {
    this.runtime.yields.take(this.scope, resume);
  }

  /** Starts the agent. With `makeTask` the caller gets a task even before the agent's first event. */
  run(makeTask: "at once" | "next" | "later"): void {
    const { clock, limits } = this.runtime;
    this.#startedAt = clock.now();
    this.runtime.turns.enter(this);
    if (this.live !== undefined) this.inbox.watch(this.live);
    if (makeTask === "at once") this.#makeTask();
    else if (makeTask === "next") setImmediate(() => this.#makeTask());
    else this.#makeTaskLater();
    if (limits.turnDeadlineMs !== undefined) {
      this.#timers.push(clock.after(limits.turnDeadlineMs, () => this.abort("DeadlineExceeded")));
    }
    if (this.start.late !== undefined) this.#endWith(this.start.late);
    const run = (): Promise<void> => this.#run();
    void (this.#trace === undefined ? run() : this.#trace.run(run));
  }

  #endWith(late: AbortSignal): void {
    const end = (): void => {
      if (isPassed(late)) this.abort("DeadlineExceeded");
    };
    if (late.aborted) end();
    else late.addEventListener("abort", end, { once: true });
    this.#timers.push(() => late.removeEventListener("abort", end));
  }

  async #run(): Promise<void> {
    try {
      const hasName = "receiver" in this.subject && this.subject.name !== undefined;
      if (hasName && !(await this.#hasItsName())) return this.#conclude(undefined);
      await runAgent(this.runtime.agent, createTurn(this), this);
      // Events that the agent emitted without awaiting still count.
      while (this.#line !== undefined) await this.#line;
    } catch (error) {
      return this.#conclude({ error });
    }
    return this.#conclude(undefined);
  }

  // Another task may get the name at the same moment: then the message goes there and this agent never runs.
  async #hasItsName(): Promise<boolean> {
    await this.live?.flush();
    return this.state.abortReason === undefined;
  }

  /**
   * Accepts an event: at once (`undefined`), or when the promise resolves. Throws for an event that the turn may not
   * emit.
   */
  emit(event: AgentEvent): Promise<void> | undefined {
    const refusal = this.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    const room = this.#line ?? this.#room(event);
    if (room === undefined) return this.#accept(event);
    const emission = this.#standInLine(event, room);
    return this.#trace === undefined ? emission : this.#measureWait(emission, this.#trace);
  }

  async #measureWait(emission: Promise<void>, trace: TurnTrace): Promise<void> {
    const startedAt = monotonic(this.runtime.clock);
    await emission;
    trace.addWait(monotonic(this.runtime.clock) - startedAt);
  }

  // Events that an agent emits without awaiting are queued here in order.
  #standInLine(event: AgentEvent, first: Promise<void>): Promise<void> {
    const emission = this.#waitInLine(event, first);
    const line = emission.then(noop, noop).finally(() => {
      if (this.#line === line) this.#line = undefined;
    });
    this.#line = line;
    return emission;
  }

  async #waitInLine(event: AgentEvent, first: Promise<void>): Promise<void> {
    for (let room: Promise<void> | undefined = first; room !== undefined; room = this.#room(event)) {
      await this.orAborted(room);
    }
    return this.#accept(event);
  }

  // `undefined` when the event may be accepted. An event that ends the turn releases memory, so it does not wait for any.
  #room(event: AgentEvent): Promise<void> | undefined {
    const needsMemory = this.runtime.memory.isTight && !this.state.closed && !stopsTurn(event, this.bytes);
    if (needsMemory && this.live === undefined && this.alive() && !isReply(event)) this.ensureTask();
    const room = this.live?.room();
    return needsMemory ? (room ?? this.#memory?.room()) : room;
  }

  #accept(event: AgentEvent): Promise<void> | undefined {
    if (this.state.closed || !this.alive()) {
      this.logger.debug({}, "an event behind the end of the turn was dropped");
      return undefined;
    }
    const normal = normalizeEvent(event, this.#writer.identity);
    this.state.speak();
    this.#trace?.countEvent();
    return this.#writer.write(normal);
  }

  /** Resolves when everything emitted so far is stored, including what still waits for room. */
  async flush(): Promise<void> {
    await this.#line;
    await this.live?.flush();
  }

  /** False once the turn has ended or was cut off. */
  alive(): boolean {
    return this.state.phase.name !== "ending";
  }

  /** True once a reply or a terminal event was emitted, or the turn was parked. */
  get answered(): boolean {
    return this.state.closed;
  }

  /** Why events are refused now: returned once after an abort, and always after the turn was cut off. */
  refusal(): unknown {
    return this.state.refusal();
  }

  /** Waits for a promise, unless the turn must stop or is cut off first. */
  orAborted<T>(wait: Promise<T>): Promise<T> {
    const refusal = this.refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    this.#waits ??= new TurnWaits();
    return this.#waits.add(wait);
  }

  /** Aborts the agent. What it emits while it unwinds is stored; after the grace period it is cut off. */
  abort(kind: AbortKind): void {
    if (this.state.phase.name !== "running") return;
    const reason = this.state.abort(kind);
    // Pending waits reject with the reason; without one the next call does.
    if (this.#waits?.end(reason) === true) this.state.refusal();
    this.#controller?.abort(reason);
    if (kind === "OwnershipLost") return void this.#conclude(undefined);
    const cutOff = (): void => {
      this.#isCutOff = true;
      void this.#conclude(undefined);
    };
    this.#timers.push(this.runtime.clock.after(this.runtime.limits.graceMs, cutOff));
  }

  /** Aborts a turn that waits for its caller: its task waits without it. */
  letGo(): void {
    const { live, inbox } = this;
    if (live === undefined || !inbox.isWaiting || !isInterrupted(live.state)) return;
    this.abort("Draining");
  }

  /** What an earlier run of the turn has of a question: the answer, or that it waits. An answer becomes the message. */
  findEarlierAnswer(event: AgentEvent, takesWakes: boolean): Message | "waiting" | undefined {
    if (this.start.cause !== "restart") return undefined;
    this.#earlierQuestions ??= new EarlierQuestions(this.start, this.before);
    const isSilent = this.state.output.name === "silent";
    const answer = this.#earlierQuestions.find(normalizeEvent(event, this.#writer.identity), { takesWakes, isSilent });
    if (typeof answer === "object") this.message = answer;
    return answer;
  }

  /** The task, created now if necessary: a turn that waits for a message needs a task to receive it. */
  ensureTask(): LiveTask {
    return this.#writer.ensureTask();
  }

  /** Takes a waiting message or wake into the turn. Returns false when it was withdrawn meanwhile. */
  async take(live: LiveTask, entry: InboxEntry): Promise<boolean> {
    if (!(await this.#writer.take(live, entry))) return false;
    const { send } = entry;
    if (send === undefined) return true;
    this.message = send.message;
    this.#trace?.link(send.trace);
    return true;
  }

  // Probes the store first: a task whose first write fails ends the turn, while a turn that replies needs no task.
  #makeTaskLater(): void {
    const { clock, health, limits } = this.runtime;
    const make = async (): Promise<void> => {
      if (!this.#awaitsTask()) return;
      if (await health.confirm()) this.#makeTask();
      else if (this.#awaitsTask()) this.#makeTaskLater();
    };
    this.#timers.push(clock.after(limits.taskAfterMs, () => void make()));
  }

  #awaitsTask(): boolean {
    return this.alive() && this.state.output.name === "silent";
  }

  #makeTask(): void {
    if (!this.#awaitsTask()) return;
    this.state.speak();
    this.#writer.makeTask();
  }

  // An abandoned task ends its turn, and an ended one gets no more messages.
  #follow(live: LiveTask): void {
    this.#memory = this.runtime.memory.open(this);
    live.countIn(this.#memory);
    live.whenClosed(() => {
      if (live.failure === undefined) this.inbox.close();
      else this.abort("OwnershipLost");
    });
    // Events that the agent has emitted already are lost, so it cannot go on.
    live.whenRefused((error) => {
      this.logger.warn({ err: error }, "the task store refused a write of the turn");
      this.abort("OwnershipLost");
    });
    const trace = this.#trace;
    trace?.setTask(live.id);
    if (trace?.isRecorded !== true) return;
    const record = (record: LogRecord): void => {
      const state = stateOf(record);
      if (state !== undefined) trace.noteState(state);
    };
    live.observe({ record, onLeave: noop });
  }

  async #conclude(failure: { readonly error: unknown } | undefined): Promise<void> {
    if (!this.alive()) return;
    this.state.end();
    for (const cancel of this.#timers.splice(0)) cancel();
    // The error is created only for a waiting caller: its stack costs more than the rest of a short turn.
    if (this.#waits?.isEmpty === false) this.#waits.end(this.state.abortReason ?? new TypeError("the turn has ended"));
    this.inbox.close();
    let refusal: A2AError | undefined;
    try {
      refusal = await this.#end(failure);
    } catch (error) {
      if (!(error instanceof TurnAborted)) this.logger.error({ err: error }, "a turn could not be ended");
      this.live?.abandon(error);
      if (this.live === undefined && "receiver" in this.subject) {
        this.subject.receiver.fail(new A2AError("internalError", "internal error", { cause: error }));
      }
    } finally {
      if (this.live?.closed === true && this.runtime.live.get(this.taskId) === this.live)
        this.runtime.live.delete(this.taskId);
      this.#memory?.close();
      this.runtime.turns.leave(this);
      this.#trace?.end(
        outcomeOf(this.state, this.live, failure !== undefined),
        failure?.error ?? refusal ?? this.state.abortReason,
      );
    }
  }

  // Returns the error of a write that the store has refused, before or by now.
  async #end(failure: { readonly error: unknown } | undefined): Promise<A2AError | undefined> {
    try {
      if (this.live?.refusal === undefined) await endTurn(this.#endingTurn(), failure);
    } catch (error) {
      if (this.live?.refusal === undefined) throw error;
    }
    const refusal = this.live?.refusal;
    if (refusal !== undefined) await this.#writer.endAfterRefusal(refusal);
    return refusal;
  }

  #endingTurn(): EndingTurn {
    const { runtime, start, subject, state, inbox } = this;
    const agent = { startedAt: this.#startedAt, isCutOff: this.#isCutOff };
    return { run: this, runtime, start, subject, state, inbox, writer: this.#writer, ...agent };
  }

  /** Ends a task whose cancel arrived while its turn was ending. */
  cancelNow(): Promise<void> {
    return this.#writer.end(TaskState.CANCELED);
  }
}
