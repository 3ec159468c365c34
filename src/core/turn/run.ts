import { monotonic } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { sharedTimers } from "../../protocol/async/timer-queue.js";
import { sizeOfEvent, sizeOfMessage } from "../../protocol/check/size.js";
import type { Scope } from "../../protocol/context.js";
import { A2AError, CallError, maskedError } from "../../protocol/errors.js";
import type { AgentEvent } from "../../protocol/events.js";
import { copyTask } from "../../protocol/fold.js";
import { type Logger, withFields } from "../../protocol/logger.js";
import { type Message, type Task, TaskState, type TaskStatusUpdateEvent, typeNames } from "../../protocol/model.js";
import { endsBlockingSend, isInterrupted, isTerminal, stateName } from "../../protocol/states.js";
import type { TurnOutcome, TurnTrace } from "../../protocol/telemetry/follow.js";
import { type AbortKind, TurnAborted } from "../agent.js";
import type { AppendResult, InboxEntry, LogRecord, Park } from "../ports.js";
import type { TurnMemory } from "../running-memory.js";
import type { Runtime } from "../runtime.js";
import type { LiveTask } from "../task/live-task.js";
import { normalizeEvent } from "../task/normalize.js";
import { readState, recordError } from "../task/record.js";
import { shuttingDown } from "../turn-slots.js";
import { isDeadlinePassed, type TurnStart, type TurnTarget } from "../turn-start.js";
import { AgentTurn } from "./agent-turn.js";
import { TurnInbox } from "./inbox.js";
import { EarlierQuestions } from "./question.js";
import { runAgent } from "./run-agent.js";
import { TurnState } from "./turn-state.js";
import { TurnWriter } from "./writer.js";

// A turn is one run of the agent, from its message to the end that is stored.
//
//   agent  ── emit ──▶  TurnRun  ──▶  TurnWriter  ──▶  LiveTask  ──▶  store
//          ◀─ abort ──     ▲
//                          └── TurnInbox: messages, wakes and cancels from other calls
//
// `TurnState` (turn-state.ts) holds what the turn may still do. The turn begins with `run`. Its events pass `emit` in order: one
// that finds no room waits, and all later ones wait behind it. `abort` asks the agent to stop; what the agent emits while
// it unwinds is still stored.
//
// The turn ends once, in `#conclude`, with whatever comes first: the agent has returned, thrown or unwound, its grace
// period is over, the store has refused a write, or another process owns the task. From then on it accepts no event.
// `#end` and `#writeEnd` decide what is stored:
//
//   answered                   nothing more: the last event has ended the turn
//   parked                     the task waits for its time or a wake, without a process
//   lost                       nothing: another process writes the task
//   refused by the store       FAILED with the store's error, or CANCELED (`endAfterStoreRefusal`)
//   canceled, late             CANCELED or FAILED
//   drained, out of memory     the task waits for another process or for its caller if it can, else FAILED
//   failed                     FAILED; an error before the first event refuses the message instead
//   returned without a stop    COMPLETED
//   returned after a stop      only the end of the turn; the task waits for its caller
//
// Where the task stays open, the end is written by `TurnInbox.endTurn`: if something has come for the task meanwhile, a
// cancel ends the task instead, and a message or a wake starts the next turn in the same write.
//
// A turn without a task has a receiver in its place (`TurnTarget`), which hears of a reply, a task or an error.

const smallBytes = 64 << 10;

/** Runs the agent, accepts its events in order, aborts it, and ends the turn. */
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
  readonly target: TurnTarget;
  readonly #writer: TurnWriter;
  #controller: AbortController | undefined;
  /** Rejects the waits of the agent that must not outlast the turn. */
  #waits: Set<(reason: unknown) => void> | undefined;
  /** Settles when all events that wait for room have been accepted. */
  #queue: Promise<void> | undefined;
  #startedAt = 0;
  #earlierQuestions: EarlierQuestions | undefined;
  #memory: TurnMemory | undefined;
  #isCutOff = false;
  #timers: (() => void)[] = [];
  readonly #trace: TurnTrace | undefined;

  constructor(runtime: Runtime, start: TurnStart, target: TurnTarget) {
    this.runtime = runtime;
    this.start = start;
    this.scope = start.scope;
    this.message = start.send.message;
    this.target = target;
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
    if (this.start.late !== undefined) this.#abortAtDeadline(this.start.late);
    const run = (): Promise<void> => this.#run();
    void (this.#trace === undefined ? run() : this.#trace.run(run));
  }

  #abortAtDeadline(late: AbortSignal): void {
    const end = (): void => {
      if (isDeadlinePassed(late)) this.abort("DeadlineExceeded");
    };
    if (late.aborted) end();
    else late.addEventListener("abort", end, { once: true });
    this.#timers.push(() => late.removeEventListener("abort", end));
  }

  async #run(): Promise<void> {
    try {
      if ("receiver" in this.target && this.target.name !== undefined) {
        // Another task may get the name at the same moment: then the message goes there and this agent never runs.
        await this.live?.flush();
        if (this.state.abortReason !== undefined) return this.#conclude(undefined);
      }
      await runAgent(this.runtime.agent, new AgentTurn(this), this);
      // Events that the agent emitted without awaiting still count.
      while (this.#queue !== undefined) await this.#queue;
    } catch (error) {
      return this.#conclude({ error });
    }
    return this.#conclude(undefined);
  }

  /**
   * Accepts an event: at once (`undefined`), or when the promise resolves. Throws for an event that the turn may not
   * emit.
   */
  emit(event: AgentEvent): Promise<void> | undefined {
    const reason = this.takeAbortReason();
    if (reason !== undefined) return Promise.reject(reason);
    const room = this.#queue ?? this.#waitForRoom(event);
    if (room === undefined) return this.#accept(event);
    const emission = this.#enqueue(event, room);
    return this.#trace === undefined ? emission : this.#measureWait(emission, this.#trace);
  }

  async #measureWait(emission: Promise<void>, trace: TurnTrace): Promise<void> {
    const startedAt = monotonic(this.runtime.clock);
    await emission;
    trace.addWait(monotonic(this.runtime.clock) - startedAt);
  }

  // Events that an agent emits without awaiting are queued here in order.
  #enqueue(event: AgentEvent, first: Promise<void>): Promise<void> {
    const emission = this.#acceptLater(event, first);
    const queue = emission.then(noop, noop).finally(() => {
      if (this.#queue === queue) this.#queue = undefined;
    });
    this.#queue = queue;
    return emission;
  }

  async #acceptLater(event: AgentEvent, first: Promise<void>): Promise<void> {
    for (let room: Promise<void> | undefined = first; room !== undefined; room = this.#waitForRoom(event)) {
      await this.untilStopped(room);
    }
    return this.#accept(event);
  }

  // `undefined` when the event may be accepted. An event that ends the turn releases memory, so it does not wait for any.
  #waitForRoom(event: AgentEvent): Promise<void> | undefined {
    const needsMemory = this.runtime.memory.isTight && !this.state.isOutputClosed && !releasesMemory(event, this.bytes);
    if (needsMemory && this.live === undefined && !this.isEnding && !isReply(event)) this.ensureTask();
    const room = this.live?.waitForStore();
    return needsMemory ? (room ?? this.#memory?.waitForMemory()) : room;
  }

  #accept(event: AgentEvent): Promise<void> | undefined {
    if (this.state.isOutputClosed || this.isEnding) {
      this.logger.debug({}, "an event behind the end of the turn was dropped");
      return undefined;
    }
    const normal = normalizeEvent(event, this.#writer.identity);
    this.state.emitEvent();
    this.#trace?.countEvent();
    return this.#writer.write(normal);
  }

  /** Resolves when everything emitted so far is stored, including what still waits for room. */
  async flush(): Promise<void> {
    await this.#queue;
    await this.live?.flush();
  }

  /** True once the turn ends or was cut off. */
  get isEnding(): boolean {
    return this.state.phase.name === "ending";
  }

  /** True once a reply or a terminal event was emitted, or the turn was parked: what the agent emits now is dropped. */
  get isOutputClosed(): boolean {
    return this.state.isOutputClosed;
  }

  /** The reason to throw into the agent: returned once after an abort, and always after the turn was cut off. */
  takeAbortReason(): unknown {
    return this.state.takeAbortReason();
  }

  /** Waits for a promise, unless the turn must stop or is cut off first. */
  untilStopped<T>(wait: Promise<T>): Promise<T> {
    const reason = this.takeAbortReason();
    if (reason !== undefined) return Promise.reject(reason);
    this.#waits ??= new Set();
    const waits = this.#waits;
    return new Promise((resolve, reject) => {
      waits.add(reject);
      // Removed before it settles: an abort by the waiting code must not find a wait that is over.
      wait.finally(() => waits.delete(reject)).then(resolve, reject);
    });
  }

  /** Aborts the agent. What it emits while it unwinds is stored; after the grace period it is cut off. */
  abort(kind: AbortKind): void {
    if (this.state.phase.name !== "running") return;
    const reason = this.state.abort(kind);
    // Pending waits reject with the reason; without one the next call does.
    if (this.#rejectWaits(reason)) this.state.takeAbortReason();
    this.#controller?.abort(reason);
    if (kind === "OwnershipLost") return this.#conclude(undefined);
    const cutOff = (): void => {
      this.#isCutOff = true;
      this.#conclude(undefined);
    };
    this.#timers.push(this.runtime.clock.after(this.runtime.limits.graceMs, cutOff));
  }

  // Returns false when there were none.
  #rejectWaits(reason: unknown): boolean {
    const rejects = [...(this.#waits ?? [])];
    this.#waits?.clear();
    for (const reject of rejects) reject(reason);
    return rejects.length > 0;
  }

  /** Aborts a turn that waits for its caller: its task waits without it. */
  releaseWaiting(): void {
    const { live, inbox } = this;
    if (live === undefined || !inbox.isWaiting || !isInterrupted(live.state)) return;
    this.abort("Draining");
  }

  /** Looks for a question in an earlier run of the turn: its answer, or that it waits. An answer becomes the message. */
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
    this.#timers.push(sharedTimers(clock, limits.taskAfterMs).add(() => void make()));
  }

  #awaitsTask(): boolean {
    return !this.isEnding && this.state.output.name === "silent";
  }

  #makeTask(): void {
    if (!this.#awaitsTask()) return;
    this.state.emitEvent();
    this.#writer.makeTask();
  }

  // An abandoned task ends its turn, and an ended one gets no more messages.
  #follow(live: LiveTask): void {
    this.#memory = this.runtime.memory.open(this);
    live.countIn(this.#memory);
    live.onClosed(() => {
      if (live.failure === undefined) this.inbox.close();
      else this.abort("OwnershipLost");
    });
    // Events that the agent has emitted already are lost, so it cannot go on. `OwnershipLost` ends it without a grace
    // period; the task is still this process's, which ends it.
    live.onStoreRefusal((error) => {
      this.logger.warn({ err: error }, "the task store refused a write of the turn");
      this.abort("OwnershipLost");
    });
    const trace = this.#trace;
    trace?.setTask(live.id);
    if (trace?.isRecorded !== true) return;
    const record = (record: LogRecord): void => {
      const state = readState(record);
      if (state !== undefined) trace.noteState(state);
    };
    live.observe({ record, onLeave: noop });
  }

  // `failure`: what the agent has thrown.
  #conclude(failure: { readonly error: unknown } | undefined): void {
    if (this.isEnding) return;
    this.state.end();
    for (const cancel of this.#timers.splice(0)) cancel();
    // The error is created only for a waiting caller: its stack costs more than the rest of a short turn.
    if (this.#waits !== undefined && this.#waits.size > 0) {
      this.#rejectWaits(this.state.abortReason ?? new TypeError("the turn has ended"));
    }
    this.inbox.close();
    // After an answer that is stored, or needs no store, there is nothing to write.
    if (this.state.output.name === "answered" && this.live?.isSettled !== false) this.#leave(failure, undefined);
    else void this.#writeAndLeave(failure);
  }

  async #writeAndLeave(failure: { readonly error: unknown } | undefined): Promise<void> {
    let storeRefusal: A2AError | undefined;
    try {
      storeRefusal = await this.#end(failure);
    } catch (error) {
      if (!(error instanceof TurnAborted)) this.logger.error({ err: error }, "a turn could not be ended");
      this.live?.abandon(error);
      if (this.live === undefined) this.#refuseSend(new A2AError("internalError", "internal error", { cause: error }));
    } finally {
      this.#leave(failure, storeRefusal);
    }
  }

  #leave(failure: { readonly error: unknown } | undefined, storeRefusal: A2AError | undefined): void {
    if (this.live?.closed === true && this.runtime.live.get(this.taskId) === this.live)
      this.runtime.live.delete(this.taskId);
    this.#memory?.close();
    this.runtime.turns.leave(this);
    this.#trace?.end(
      this.#readOutcome(failure !== undefined),
      failure?.error ?? storeRefusal ?? this.state.abortReason,
    );
  }

  // Returns the error of a write that the store has refused, before or by now.
  async #end(failure: { readonly error: unknown } | undefined): Promise<A2AError | undefined> {
    try {
      if (this.live?.storeRefusal === undefined) await this.#writeEnd(failure);
    } catch (error) {
      if (this.live?.storeRefusal === undefined) throw error;
    }
    const storeRefusal = this.live?.storeRefusal;
    if (storeRefusal !== undefined) await this.#writer.endAfterStoreRefusal(storeRefusal);
    return storeRefusal;
  }

  async #writeEnd(failure: { readonly error: unknown } | undefined): Promise<void> {
    const { live, inbox } = this;
    const { abortReason } = this.state;
    if (abortReason?.kind !== "OwnershipLost") await this.#settleTake();
    const { output } = this.state;
    if (output.name === "answered") return live?.flush();
    if (output.name === "parked" && failure === undefined && this.#mayPark()) return this.#endParked(output.park);
    if (abortReason !== undefined) return this.#endAborted(abortReason);
    if (failure !== undefined) return this.#endFailed(failure.error);
    if (live !== undefined && output.name === "stopped") return inbox.endTurn(live, [{ kind: "turnEnded" }]);
    return this.#writer.end(TaskState.COMPLETED);
  }

  // A message that is being taken makes a task that waits for its caller WORKING again. Whether it was decides how the
  // turn ends: left as it is, the task would be WORKING without a process.
  async #settleTake(): Promise<void> {
    const { live } = this;
    if (live !== undefined && this.state.output.name === "stopped" && !isInterrupted(live.state)) await live.settle();
  }

  #mayPark(): boolean {
    const { abortReason } = this.state;
    if (abortReason === undefined || abortReason.kind === "Draining") return true;
    return abortReason.kind === "ResourceExhausted" && !this.#isCutOff;
  }

  // The record does not end the turn, so senders keep waiting.
  async #endParked(park: Park): Promise<void> {
    const { live, runtime, start } = this;
    if (live === undefined) return;
    let { wakeAt } = park;
    // An agent that always parks until a time in the past would cause a busy loop.
    if (wakeAt !== undefined && start.cause !== "message") {
      wakeAt = Math.max(wakeAt, this.#startedAt + runtime.limits.minWakeIntervalMs);
    }
    await this.inbox.endTurn(live, [{ kind: "turnParked" }], { wakeAt });
    if (wakeAt !== undefined) runtime.alarm.at(wakeAt);
  }

  async #endAborted(reason: TurnAborted): Promise<void> {
    const { live, runtime, inbox, state } = this;
    const writer = this.#writer;
    if (reason.kind === "OwnershipLost") return live?.abandon(reason);
    if (reason.kind === "Canceled") return writer.end(TaskState.CANCELED);
    if (reason.kind === "DeadlineExceeded") return writer.end(TaskState.FAILED, explainDeadline(runtime, this.start));
    // A cancel that arrived while the turn was being aborted for another reason.
    if (await inbox.holdsCancel()) return writer.end(TaskState.CANCELED);
    if (reason.kind === "ResourceExhausted") return this.#endForMemory();
    if (live !== undefined && runtime.restartable) {
      // If a message has arrived already, another process takes over.
      if (state.output.name === "stopped" && (await leaveWaiting(live)) !== "inboxMoved") return;
      // The task stays with this stopping process, so that another one re-runs its turn.
      await live.exclusive([{ kind: "turnReleased" }], {});
      return live.abandon(reason);
    }
    // As a killed process would have left it: the next message starts a turn.
    if (live !== undefined && isInterrupted(live.state)) return inbox.endTurn(live, [{ kind: "turnEnded" }]);
    if (live !== undefined) return writer.end(TaskState.FAILED, "the server was shut down before the task was done");
    this.#refuseSend(shuttingDown());
  }

  // A task that waits for its caller needs no memory: the next message starts a turn. The old agent must have ended by
  // then.
  async #endForMemory(): Promise<void> {
    const { live, runtime } = this;
    this.logger.warn({ limit: "runningMaxBytes", bytes: live?.bytes }, "a turn was ended to make room in memory");
    if (live !== undefined && !this.#isCutOff && this.state.output.name === "stopped" && isInterrupted(live.state)) {
      if (!runtime.restartable) return this.inbox.endTurn(live, [{ kind: "turnEnded" }]);
      // If a message has arrived already, the task does not wait for its caller.
      if ((await leaveWaiting(live)) !== "inboxMoved") return;
    }
    return this.#writer.end(TaskState.FAILED, runtime.memory.limitText);
  }

  async #endFailed(cause: unknown): Promise<void> {
    const { live } = this;
    const writer = this.#writer;
    const error = cause instanceof CallError ? this.#maskCallError(cause) : cause;
    if (!(error instanceof A2AError)) {
      const reference = this.runtime.newId();
      this.logger.error({ reference, err: error }, "the agent failed");
      return writer.end(TaskState.FAILED, `the agent failed (reference ${reference})`);
    }
    if (error.code === "invalidAgentResponse") {
      this.logger.error({ err: error }, "the agent emitted what cannot be sent");
    }
    if (this.state.output.name !== "silent") return writer.end(TaskState.FAILED, error.message);
    if (live === undefined) return this.#refuseSend(error);
    // The task stays as it was before the message: parked, or waiting for its caller. A turn without a message has no
    // sender to refuse.
    const wasParked = !isInterrupted(live.state);
    if (wasParked && this.start.cause !== "message") return writer.end(TaskState.FAILED, error.message);
    const drafts = [{ kind: "turnEnded", error: recordError(error) }] as const;
    return this.inbox.endTurn(live, drafts, wasParked ? { wakeAt: live.wakeAt } : undefined);
  }

  // The caller must not learn which service the agent calls, or why it failed.
  #maskCallError(error: CallError): A2AError {
    const reference = this.runtime.newId();
    this.logger.error({ reference, err: error }, "an agent that this one calls did not answer");
    const { retryAfterMs } = error;
    return maskedError("unavailable", "an agent that this one calls did not answer", { reference, retryAfterMs });
  }

  #refuseSend(error: A2AError): void {
    if ("receiver" in this.target) this.target.receiver.fail(error);
  }

  /** Ends a task whose cancel arrived while its turn was ending. */
  cancelNow(): Promise<void> {
    return this.#writer.end(TaskState.CANCELED);
  }

  // How the turn ended, for telemetry. `failed`: its agent has thrown.
  #readOutcome(failed: boolean): TurnOutcome {
    const { live } = this;
    const { abortReason, output } = this.state;
    if (live === undefined) return output.name === "answered" ? "replied" : "refused";
    if (live.failure !== undefined) return abortReason?.kind === "Draining" ? "released" : "lost";
    if (isTerminal(live.state)) return stateName(live.state);
    if (failed && output.name === "silent") return "refused";
    return output.name === "parked" ? "parked" : stateName(live.state);
  }
}

// No process runs the task until its caller has answered. `inboxMoved`: a message has arrived already.
function leaveWaiting(live: LiveTask): Promise<AppendResult> {
  return live.exclusive([{ kind: "turnReleased" }], { end: { inboxPut: live.inboxPut } });
}

function explainDeadline({ limits, deadlines }: Runtime, { late }: TurnStart): string {
  if (late !== undefined && isDeadlinePassed(late)) {
    if (deadlines === "wait") return "turn deadline exceeded: the deadline of the turn that called has passed";
    return 'turn deadline exceeded: the deadline of the caller has passed (deadlines: "abort")';
  }
  return `turn deadline exceeded: the limit is ${limits.turnDeadlineMs} ms (turnDeadlineMs)`;
}

/**
 * Whether a turn releases its memory after an event: a reply, a status at which it ends or waits for its caller, or
 * `park`. False for an event that is larger than both 64 KiB and its task.
 */
function releasesMemory(event: AgentEvent, taskBytes: number): boolean {
  try {
    const bytes = measureStop(event);
    return bytes !== undefined && bytes <= Math.max(smallBytes, taskBytes);
  } catch {
    // Not an event: it is refused when it is accepted.
    return true;
  }
}

/** Size of an event after which its turn releases memory; `undefined` for any other. */
function measureStop(event: AgentEvent): number | undefined {
  switch (event.$typeName) {
    case typeNames.Message:
      return sizeOfMessage(event);
    case typeNames.TaskStatusUpdateEvent:
      return measureStopStatus(event);
    case typeNames.StreamResponse:
      if (event.payload.case === "message") return sizeOfMessage(event.payload.value);
      return event.payload.case === "statusUpdate" ? measureStopStatus(event.payload.value) : undefined;
    case "trivium.Park":
      return 0;
    default:
      return undefined;
  }
}

function measureStopStatus(value: TaskStatusUpdateEvent): number | undefined {
  if (value.status === undefined || !endsBlockingSend(value.status.state)) return undefined;
  return sizeOfEvent({ $typeName: typeNames.StreamResponse, payload: { case: "statusUpdate", value } });
}

/** Whether an event is the whole answer where there is no task yet. */
function isReply(event: AgentEvent): boolean {
  if (event?.$typeName === typeNames.StreamResponse) return event.payload.case === "message";
  return event?.$typeName === typeNames.Message;
}
