import { type Message as AnyMessage, create } from "@bufbuild/protobuf";
import { joinRepeats } from "../../protocol/artifact-chunks.js";
import type { Clock } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { pause } from "../../protocol/async/pause.js";
import { endStep, leaveStream } from "../../protocol/async/steps.js";
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
import { isTerminal } from "../../protocol/states.js";
import { isCutOff } from "../failures.js";
import type { Attempt, OpenStream } from "../interface-client.js";
import { type Allowance, pollPause } from "../timing.js";
import { type TaskView, taskItem, withId } from "./task-view.js";

const sendMessage = findOperation("sendMessage");
const getTask = findOperation("getTask");
export const subscribeToTask = findOperation("subscribeToTask");

/** How a stream continues: events that are already there, and the source of later ones. */
export interface Source {
  readonly events: readonly StreamItem[];
  readonly rest: AsyncIterator<StreamItem, unknown>;
  /** True for a stream of the agent's; otherwise the task is polled. */
  readonly isStream?: boolean | undefined;
}

export interface ResumptionOptions {
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
}

export interface ResumptionCall {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly allowance: Allowance;
  /** Aborts when the caller gives up for any reason. */
  readonly signal: AbortSignal;
  /** Aborts when the reader leaves. */
  readonly leaveSignal: AbortSignal;
}

/** Opens a stream and resumes it after a break. */
export class Resumption {
  readonly #options: ResumptionOptions;
  readonly #call: ResumptionCall;
  readonly #view: TaskView;
  #isFirst = true;

  constructor(options: ResumptionOptions, call: ResumptionCall, view: TaskView) {
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

export function namesTask({ message }: SendMessageRequest): boolean {
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
