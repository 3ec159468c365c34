import { type Message as AnyMessage, create } from "@bufbuild/protobuf";
import { joinRepeats } from "../../protocol/artifact-chunks.js";
import type { Clock } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { pause } from "../../protocol/async/pause.js";
import { backoffMs } from "../../protocol/async/retry.js";
import { endStep, leaveStream, type Step } from "../../protocol/async/steps.js";
import { dynamic } from "../../protocol/codec/outline/dynamic.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError, ConnectionError } from "../../protocol/errors.js";
import {
  SendMessageConfigurationSchema,
  type SendMessageRequest,
  type SendMessageResponse,
  type Task,
  TaskState,
  typeNames,
} from "../../protocol/model.js";
import { findOperation, type Operation, type StreamItem } from "../../protocol/operations.js";
import { endsBlockingSend, isTerminal } from "../../protocol/states.js";
import { isCutOff } from "../failures.js";
import type { Attempt, OpenStream } from "../interface-client.js";
import { type Allowance, pollPause, startAllowance, toTimeoutError } from "../timing.js";
import { SilenceWatch } from "./silence-watch.js";
import { TaskView, taskItem, withId } from "./task-view.js";

// One stream of a client, over as many connections as it takes.
//
// `ResumingStream` is what the reader holds: it reads the current connection, decides what a break means, and counts
// breaks. `Resumption`, below it, opens the next one: after the last event id, from a snapshot of the task, or by
// polling it. `TaskView` folds what the reader has, and finds what a snapshot adds to it. `SilenceWatch` asks an agent
// without event ids whether its silent stream has missed something.
//
// The stream is new, connected (`#rest`), broken (`#breaks` counts the attempts up to `maxBreaks`) or finished. One read is
// in progress at a time (`#isAsked`), and the others wait. The reader gets each event once and in order, whichever
// connection brings it.

export interface ResumingStreamOptions {
  /** Makes the first call, and waits for an agent that restarts. Default: `attempt`. */
  readonly firstAttempt?: Attempt | undefined;
  readonly attempt: Attempt;
  readonly clock: Clock;
  /** False for an agent that cannot stream, whose task is polled. Absent: streaming is tried. */
  readonly streaming: boolean | undefined;
  /** First polling interval in milliseconds; it grows to ten times that. */
  readonly pollMs: number;
  /** Whether a repeated call takes effect only once. Default: messages are never resent. */
  readonly isRepeatable?: ((operation: Operation, options: CallOptions) => boolean) | undefined;
  /** Time limit for the first event of a subscription. Default: none. */
  readonly snapshotTimeoutMs?: number | undefined;
  /** Consecutive breaks after which the stream fails. Events and time between them make up for breaks. */
  readonly maxBreaks: number;
  /** Whether the agent resumes after an event id; otherwise its ids are ignored. Default: true. */
  readonly numbers?: boolean | undefined;
}

/** One streaming call. */
export interface StreamCall {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly options: CallOptions;
}

const sendMessage = findOperation("sendMessage");
const getTask = findOperation("getTask");
const subscribeToTask = findOperation("subscribeToTask");

const endedSource: AsyncIterator<StreamItem, undefined> = { next: async () => endStep };
const pauses = { firstMs: 100, maxMs: 5_000 };
// Connected time that restores one attempt. An agent that closes after each event makes progress but must not cause a
// busy loop: the first event of a connection restores most of an attempt, and time or further events the rest.
const soundMs = 6_000;
const firstEventPays = 0.75;
const furtherEventPays = 0.1;

/** How long a stream whose answer is complete may take to end by itself, in milliseconds. */
const endMs = 500;

/**
 * A stream that continues when its connection breaks: after the last event if the agent numbers its events, else from a
 * snapshot of the task, else by polling the task.
 */
export class ResumingStream implements AsyncIterableIterator<StreamItem, undefined> {
  readonly #options: ResumingStreamOptions;
  readonly #call: StreamCall;
  readonly #view: TaskView;
  readonly #leaveController = new AbortController();
  readonly #resumption: Resumption;
  #isNew = true;
  /** Events that arrived while connecting, and the source of later ones. */
  #buffer: StreamItem[] = [];
  #rest: AsyncIterator<StreamItem, unknown> | undefined;
  /** The current connection carries the caller's original request. */
  #isOriginal = true;
  readonly #watch: SilenceWatch | undefined;
  /** The connection was left because the task had progressed without it. */
  #isStale = false;
  /** The agent has sent an event since the last connection left for that reason. */
  #isLively = true;
  /** Breaks that nothing has made up for yet. */
  #breaks = 0;
  /** When the connection was opened. */
  #since: number;
  /** The connection has not delivered an event yet. */
  #isSilent = true;
  /** The stream started its task, and has not yet compared its content with that of the task. */
  #isFresh: boolean;
  /** A read is in progress; further reads wait for it. */
  #isAsked = false;
  readonly #waiters: (() => void)[] = [];

  constructor(options: ResumingStreamOptions, call: StreamCall) {
    this.#options = options;
    this.#call = call;
    this.#since = options.clock.now();
    const { operation, request } = call;
    const leaveSignal = this.#leaveController.signal;
    const signal =
      call.options.signal === undefined ? leaveSignal : AbortSignal.any([call.options.signal, leaveSignal]);
    const allowance = startAllowance(call.options, options.clock);
    const { numbers = true, streaming, clock, snapshotTimeoutMs: silenceMs = Number.POSITIVE_INFINITY } = options;
    const toTheEnd = operation === subscribeToTask;
    const existedBefore = toTheEnd || (streaming !== false && namesTask(request as SendMessageRequest));
    this.#view = new TaskView({ toTheEnd, existedBefore, numbers });
    this.#isFresh = !existedBefore && call.options.after === undefined;
    // An agent that resumes by event ids misses nothing and ends its streams.
    if (!numbers && Number.isFinite(silenceMs)) this.#watch = new SilenceWatch(clock, silenceMs, this.#checkProgress);
    this.#resumption = new Resumption(options, { operation, request, allowance, signal, leaveSignal }, this.#view);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step<StreamItem>> {
    return this.#isAsked ? this.#inTurn(this.#ask) : this.#ask();
  }

  /** Leaves the stream, even while it waits for an event, and releases its connection. */
  return(): Promise<Step<StreamItem>> {
    this.#leaveController.abort();
    const finish = (): Promise<Step<StreamItem>> => Promise.resolve(this.#finish());
    return this.#isAsked ? this.#inTurn(finish) : finish();
  }

  #inTurn(ask: () => Promise<Step<StreamItem>>): Promise<Step<StreamItem>> {
    return new Promise((resolve) => this.#waiters.push(() => resolve(ask())));
  }

  // Written by hand because a generator makes each event half as expensive again: an open connection is read at once,
  // and its answer is checked in one step.
  readonly #ask = (): Promise<Step<StreamItem>> => {
    this.#isAsked = true;
    const rest = this.#rest;
    if (rest === undefined || this.#buffer.length > 0 || this.#isRead() || this.#isLingering()) {
      return this.#proceed();
    }
    return rest.next().then(this.#onItem, this.#onError);
  };

  readonly #onItem = (result: IteratorResult<StreamItem, unknown>): Step<StreamItem> | Promise<Step<StreamItem>> => {
    if (result.done === true) {
      this.#rest = endedSource;
      return this.#proceed();
    }
    const step: Step<StreamItem> = { done: false, value: this.#record(withId(result.value)) };
    this.#endRead();
    return step;
  };

  readonly #onError = (error: unknown): Promise<Step<StreamItem>> => this.#proceed({ error });

  #endRead(): void {
    this.#isAsked = false;
    while (!this.#isAsked && this.#waiters.length > 0) this.#waiters.shift()?.();
  }

  /** Anything but the next event of an open connection. */
  async #proceed(failure?: { readonly error: unknown }): Promise<Step<StreamItem>> {
    try {
      if (this.#isNew) {
        this.#isNew = false;
        this.#enter(await this.#resumption.begin().catch(this.#ignoreOnceLeft));
      }
      for (let last = failure; ; ) {
        if (last !== undefined) await this.#change(last.error);
        try {
          return await this.#read();
        } catch (error) {
          last = { error };
        }
      }
    } catch (error) {
      this.#finish();
      throw toTimeoutError(error, this.#view, this.#call.options);
    } finally {
      this.#endRead();
    }
  }

  /** Switches to another connection, unless nothing more is expected. Throws errors that it cannot recover from. */
  async #change(error: unknown): Promise<void> {
    this.#leave();
    this.#isOriginal = this.#resumption.repeats;
    const failure = this.#findBreak(error);
    if (failure !== undefined) this.#enter(await this.#recover(failure).catch(this.#ignoreOnceLeft));
  }

  #enter(source: Source | undefined): void {
    this.#buffer = [...(source?.events ?? [])];
    this.#rest = source?.rest;
    this.#since = this.#options.clock.now();
    this.#isSilent = true;
    this.#isStale = false;
    if (source?.isStream === true) this.#watch?.start();
    else this.#watch?.stop();
  }

  // A silent stream may have missed the end of its task, or not have noticed it.
  readonly #checkProgress = async (): Promise<void> => {
    const rest = this.#rest;
    if (!this.#isAsked || this.#view.taskId === "") return;
    if (!this.#view.isDone) {
      const progress = await this.#resumption.findProgress();
      // A send's stream of a running task may show more than its agent stores.
      const isBehind = progress === "ended" || (progress === "further" && this.#view.toTheEnd && this.#isLively);
      if (!isBehind || this.#rest !== rest || this.#watch?.hasEvent === true) return;
      this.#isStale = true;
      this.#isLively = false;
    }
    leaveStream(rest);
  };

  #leave(): void {
    leaveStream(this.#rest);
    this.#buffer = [];
    this.#rest = undefined;
    this.#isStale = false;
    this.#watch?.stop();
  }

  async #read(): Promise<Step<StreamItem>> {
    const item = this.#buffer.shift();
    if (item !== undefined) return { done: false, value: this.#record(item) };
    if (this.#rest === undefined || this.#isRead()) return this.#end();
    const next = await this.#nextOrEnd(this.#rest);
    if (next.done !== true) return { done: false, value: this.#record(withId(next.value)) };
    if (!this.#isStale && this.#isOver()) return this.#end();
    throw new A2AError("unavailable", "the agent ended the stream before it sent the task");
  }

  /** A stream assembled from several connections, or without any content, is compared with the task before it ends. */
  async #end(): Promise<Step<StreamItem>> {
    if (!this.#view.isDoubtful && !this.#mayLackContent()) return this.#finish();
    this.#leave();
    const whole = await this.#resumption.repair();
    return whole === undefined ? this.#finish() : { done: false, value: this.#record(whole) };
  }

  /**
   * Whether a new task completed and the stream has none of its content. Asked once, since the comparison settles it.
   */
  #mayLackContent(): boolean {
    const isFresh = this.#isFresh;
    this.#isFresh = false;
    return isFresh && this.#options.numbers === false && this.#view.isBare;
  }

  #finish(): Step<StreamItem> {
    this.#isNew = false;
    this.#leave();
    return endStep;
  }

  // The agent decides where its stream ends, unless the current request differs from the original one.
  #isRead(): boolean {
    return !this.#isOriginal && this.#view.isDone;
  }

  // Some agents leave the connection open after the answer. They get `endMs` to end it or to send more: that the
  // message was never taken, or that the next turn has begun. Agents that number their events end their streams
  // themselves.
  #isLingering(): boolean {
    return this.#options.numbers === false && this.#isOriginal && this.#view.isDone;
  }

  #nextOrEnd(rest: AsyncIterator<StreamItem, unknown>): Promise<IteratorResult<StreamItem, unknown>> {
    if (!this.#isLingering()) return rest.next();
    let cancel = noop;
    const end = new Promise<typeof endStep>((resolve) => {
      cancel = this.#options.clock.after(endMs, () => resolve(endStep));
    });
    return Promise.race([rest.next(), end]).finally(() => cancel());
  }

  readonly #ignoreOnceLeft = (error: unknown): undefined => {
    if (!this.#leaveController.signal.aborted) throw error;
  };

  /** The error to recover from; `undefined` when nothing more was expected. */
  #findBreak(error: unknown): unknown {
    if (this.#leaveController.signal.aborted) return undefined;
    if (this.#isAborted()) throw error;
    if (this.#isStale) return error;
    // An error from the agent is passed on, even after the end of the task: it may say that the message was never
    // taken.
    if (!isCutOff(error)) throw error;
    return this.#view.isDone && !this.#resumption.repeats ? undefined : error;
  }

  #record(item: StreamItem): StreamItem {
    if (this.#breaks > 0) this.#restoreAttempts(this.#isSilent ? firstEventPays : furtherEventPays);
    this.#isSilent = false;
    this.#watch?.noteEvent();
    this.#isLively ||= item.recovered === undefined;
    this.#view.record(item);
    return item;
  }

  #restoreAttempts(breaks: number): void {
    this.#breaks = Math.max(0, this.#breaks - breaks);
  }

  /** Nothing more is expected, now that the agent has ended the stream. */
  #isOver(): boolean {
    const { taskId, state, isDone, isLost } = this.#view;
    return taskId === "" || endsBlockingSend(state) || isDone || isLost;
  }

  #isAborted(): boolean {
    return this.#call.options.signal?.aborted === true;
  }

  async #recover(failure: unknown): Promise<Source> {
    const { clock, maxBreaks } = this.#options;
    this.#restoreAttempts((clock.now() - this.#since) / soundMs);
    for (let error = failure; ; ) {
      this.#breaks++;
      if (this.#view.taskId === "" || this.#breaks > maxBreaks) throw error;
      try {
        // The first retry is immediate: most breaks affect a single connection.
        if (this.#breaks > 1) await this.#resumption.pause(backoffMs(this.#breaks - 1, pauses));
        return await this.#resumption.resume();
      } catch (retryError) {
        if (this.#isAborted() || !isCutOff(retryError)) throw retryError;
        error = retryError;
      }
    }
  }
}

/** How a stream continues: events that are already there, and the source of later ones. */
interface Source {
  readonly events: readonly StreamItem[];
  readonly rest: AsyncIterator<StreamItem, unknown>;
  /** True for a stream of the agent's; otherwise the task is polled. */
  readonly isStream?: boolean | undefined;
}

/** One streaming call, whose time has started. */
interface StartedCall {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly allowance: Allowance;
  /** Aborts when the caller gives up for any reason. */
  readonly signal: AbortSignal;
  /** Aborts when the reader leaves. */
  readonly leaveSignal: AbortSignal;
}

/** Opens the connections of a stream: the first one, and those that resume it after a break. */
class Resumption {
  readonly #options: ResumingStreamOptions;
  readonly #call: StartedCall;
  readonly #view: TaskView;
  #isFirst = true;

  constructor(options: ResumingStreamOptions, call: StartedCall, view: TaskView) {
    this.#options = options;
    this.#call = call;
    this.#view = view;
  }

  /** The stream as requested. */
  async begin(): Promise<Source> {
    const { operation, request } = this.#call;
    const subscribes = operation === subscribeToTask;
    const { streaming } = this.#options;
    if (streaming !== false) {
      const { after } = this.#next();
      const source = await this.#open(operation, request, after).catch((error: unknown) => {
        if (streaming === true || subscribes || !isUnable(error)) throw error;
      });
      if (source === undefined) return { events: [await this.#send()], rest: this.#poll() };
      // After the last event of a task there are no more.
      if (after !== undefined || (subscribes ? beginsWithTask(source) : source.events.length > 0)) return source;
      if (!subscribes) throw new ConnectionError("the agent ended the stream without an event", { written: true });
      if (source.events.length > 0) return this.#pollIfPartial(source);
    }
    const first = subscribes ? taskItem(await this.#readTask()) : await this.#send();
    return { events: [first], rest: this.#poll() };
  }

  /**
   * Whether the stream resumes as the same send instead of a subscription. It does for a task that existed before,
   * since only the send learns that the task ended before it took the message.
   */
  get repeats(): boolean {
    const { operation, request } = this.#call;
    if (operation === subscribeToTask || this.#view.lastId === undefined) return false;
    return namesTask(request as SendMessageRequest) && this.#options.isRepeatable?.(operation, this.#next()) === true;
  }

  /** The events after the last one, sent by the agent or found by comparison. */
  async resume(): Promise<Source> {
    const { operation, request } = this.#call;
    if (this.repeats) return this.#skipDelivered(await this.#open(operation, request, this.#view.lastId));
    const source = this.#options.streaming === false ? undefined : await this.#subscribe();
    return source ?? { events: await this.#view.catchUp(await this.#readTask(), undefined), rest: this.#poll() };
  }

  /** The whole task, if it differs from what was delivered; `undefined` also when it cannot be read. */
  async repair(): Promise<StreamItem | undefined> {
    const task = await this.#readTask().catch(() => undefined);
    return task && this.#view.repair(task);
  }

  /**
   * Whether the task has ended, or only progressed, without the stream showing it; `undefined` also when it cannot be
   * read.
   */
  async findProgress(): Promise<"ended" | "further" | undefined> {
    const task = await this.#readTask().catch(() => undefined);
    if (task === undefined) return undefined;
    if (isTerminal(task.status?.state ?? TaskState.UNSPECIFIED)) return this.#view.isDone ? undefined : "ended";
    return (await this.#view.differsFrom(task)) ? "further" : undefined;
  }

  /** Waits, but not beyond the time of the call. Rejects when the caller gives up. */
  pause(ms: number): Promise<void> {
    const { allowance, signal } = this.#call;
    return pause(this.#options.clock, Math.min(ms, allowance.remainingMs()), signal);
  }

  // Some agents send subscribers only later events and not the current task. If such an agent can be polled, its task
  // is polled: it is unknown which of the sent events the task already includes.
  async #pollIfPartial(source: Source): Promise<Source> {
    try {
      const task = await this.#readTask().catch(unlessRefused);
      if (task === undefined) return source;
      leaveStream(source.rest);
      return { events: [taskItem(task)], rest: this.#poll() };
    } catch (error) {
      leaveStream(source.rest);
      throw error;
    }
  }

  // A subscription starts with the task unless it resumes after an event. One that does neither may have omitted
  // anything, so it is not used.
  async #subscribe(): Promise<Source | undefined> {
    const { taskId: id, lastId } = this.#view;
    const request = this.#withTenant({ $typeName: typeNames.SubscribeToTaskRequest, id, tenant: "" } as const);
    const source = await this.#open(subscribeToTask, request, lastId).catch(unlessRefused);
    if (source === undefined) return undefined;
    if (beginsWithTask(source)) return this.#skipDelivered(source);
    if (lastId !== undefined) {
      if (source.events.length > 0) return source;
      throw new A2AError("unavailable", "the agent ended the stream before it sent the task");
    }
    leaveStream(source.rest);
    return undefined;
  }

  // Replaces the snapshot by what the reader does not know of it.
  async #skipDelivered(source: Source): Promise<Source> {
    const [first] = source.events;
    if (first?.response.payload.case !== "task") return source;
    return { ...source, events: await this.#view.catchUp(first.response.payload.value, first.id) };
  }

  async #open(operation: Operation, request: AnyMessage, after: string | undefined): Promise<Source> {
    const options = { ...this.#next(), after };
    const openStream = (leaveSignal: AbortSignal) => this.#nextAttempt().open(operation, request, options, leaveSignal);
    const { snapshotTimeoutMs: limitMs = Number.POSITIVE_INFINITY } = this.#options;
    const isLimited = operation === subscribeToTask && after === undefined && Number.isFinite(limitMs);
    const stream = isLimited ? await this.#unlessSilent(limitMs, openStream) : await openStream(this.#call.leaveSignal);
    const { first, rest } = stream ?? silence;
    return { events: first.done === true ? [] : [joinItem(withId(first.value))], rest, isStream: true };
  }

  // A subscription starts with the task at once. Some agents send nothing until something happens, which may be never.
  async #unlessSilent(
    limitMs: number,
    open: (leaveSignal: AbortSignal) => Promise<OpenStream>,
  ): Promise<OpenStream | undefined> {
    const giveUp = new AbortController();
    const opening = open(AbortSignal.any([this.#call.leaveSignal, giveUp.signal]));
    let cancel = noop;
    const timeout = new Promise<undefined>((resolve) => {
      cancel = this.#options.clock.after(limitMs, () => resolve(undefined));
    });
    const stream = await Promise.race([opening, timeout]).finally(() => cancel());
    if (stream !== undefined) return stream;
    giveUp.abort();
    opening.then(({ rest }) => rest.return?.()).then(undefined, noop);
    return undefined;
  }

  // A message to an agent that cannot stream: it answers with the task at once, which is then followed.
  async #send(): Promise<StreamItem> {
    const request = this.#call.request as SendMessageRequest;
    const configuration = {
      ...(request.configuration ?? create(SendMessageConfigurationSchema)),
      returnImmediately: true,
    };
    const immediateRequest = { ...request, configuration };
    const { payload } = (await this.#unary(sendMessage, immediateRequest)) as SendMessageResponse;
    return { response: { $typeName: typeNames.StreamResponse, payload } };
  }

  async #readTask(): Promise<Task> {
    const id = this.#view.taskId || String(dynamic(this.#call.request)["id"]);
    return joinTask(
      (await this.#unary(
        getTask,
        this.#withTenant({ $typeName: typeNames.GetTaskRequest, id, tenant: "" } as const),
      )) as Task,
    );
  }

  #unary(operation: Operation, request: AnyMessage): Promise<AnyMessage> {
    return this.#nextAttempt().unary(operation, request, { ...this.#next(), after: undefined });
  }

  // Only the first call waits for an agent that restarts. Later ones count as breaks of the stream, which has its own pauses.
  #nextAttempt(): Attempt {
    const { firstAttempt, attempt } = this.#options;
    const next = this.#isFirst ? firstAttempt : undefined;
    this.#isFirst = false;
    return next ?? attempt;
  }

  #next(): CallOptions {
    return { ...this.#call.allowance.next(), signal: this.#call.signal };
  }

  #withTenant<T extends { tenant: string }>(request: T): T {
    const tenant = dynamic(this.#call.request)["tenant"];
    return typeof tenant === "string" ? { ...request, tenant } : request;
  }

  async *#poll(): AsyncGenerator<StreamItem, void, undefined> {
    const { pollMs } = this.#options;
    const view = this.#view;
    for (let polls = 1; view.taskId !== "" && !view.isDone && !view.isLost; polls++) {
      await this.pause(pollPause(polls, pollMs));
      yield* await view.catchUp(await this.#readTask(), undefined);
    }
  }
}

const silence: OpenStream = { first: endStep, rest: { next: async () => endStep } };

function joinItem(item: StreamItem): StreamItem {
  const { payload } = item.response;
  return payload.case === "task" ? { ...item, response: taskItem(joinTask(payload.value)).response } : item;
}

function joinTask(task: Task): Task {
  const artifacts = joinRepeats(task.artifacts);
  return artifacts === task.artifacts ? task : { ...task, artifacts };
}

function beginsWithTask({ events: [first] }: Source): boolean {
  return first?.response.payload.case === "task";
}

function namesTask({ message }: SendMessageRequest): boolean {
  return message !== undefined && message.taskId !== "";
}

/** An agent that refuses subscriptions in some way may still answer GetTask. */
function unlessRefused(error: unknown): undefined {
  const isRefusal = error instanceof A2AError && !isCutOff(error) && error.code !== "deadlineExceeded";
  if (!isRefusal) throw error;
}

/** The error of an agent that cannot stream, which means that it did nothing. */
function isUnable(error: unknown): boolean {
  return error instanceof A2AError && (error.code === "unsupportedOperation" || error.code === "methodNotFound");
}
