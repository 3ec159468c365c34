import { create } from "@bufbuild/protobuf";
import { type Clock, callerClock } from "../../protocol/async/clock.js";
import { pause } from "../../protocol/async/pause.js";
import { type Backoff, backoffMs } from "../../protocol/async/retry.js";
import { endStep, type Step } from "../../protocol/async/steps.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError, ConnectionError } from "../../protocol/errors.js";
import { randomUuid } from "../../protocol/id/random-uuid.js";
import {
  GetTaskRequestSchema,
  type SendMessageRequest,
  type SubscribeToTaskRequest,
  type Task,
  TaskState,
  typeNames,
} from "../../protocol/model.js";
import type { Operations, StreamItem } from "../../protocol/operations.js";
import { endsBlockingSend, isTerminal } from "../../protocol/states.js";

// Client-side emulation of what agents of 0.1 lack.

type Transport = Operations<CallOptions>;

const pauses: Backoff = { firstMs: 200, maxMs: 2_000, factor: 1.5 };
/** Consecutive connection failures after which polling stops. */
const maxBreaks = 5;

/**
 * A transport to an agent of 0.1. The caller names tasks. A send waits for its task even if the agent answers early. A
 * subscription begins with the task.
 */
export function callV01(transport: Transport, clock: Clock = callerClock): Transport {
  const source: SubscriptionSource = { transport, refusal: undefined };
  return {
    ...transport,
    async sendMessage(request, options) {
      const deadline = options.timeoutMs === undefined ? undefined : clock.now() + options.timeoutMs;
      const reply = await transport.sendMessage(withIds(request), options);
      const { payload } = reply;
      const { returnImmediately = false, historyLength } = request.configuration ?? {};
      if (returnImmediately || payload.case !== "task" || isAnswer(payload.value)) return reply;
      const call = { transport, options, deadline, clock, historyLength };
      return { ...reply, payload: { case: "task", value: await pollUntilAnswer(payload.value, call) } };
    },
    sendStreamingMessage: (request, options) => transport.sendStreamingMessage(withIds(request), options),
    subscribeToTask: (request, options) => new V01Subscription(source, request, options),
  };
}

/** Adds a task id and a session id to a request that has none: in 0.1 the caller chooses them. */
function withIds(request: SendMessageRequest): SendMessageRequest {
  const { message } = request;
  if (message === undefined || (message.taskId !== "" && message.contextId !== "")) return request;
  // A known task keeps its session.
  const contextId = message.contextId || (message.taskId === "" ? randomUuid() : "");
  return { ...request, message: { ...message, contextId, taskId: message.taskId || randomUuid() } };
}

/** Whether a send may return a task. `unknown` is a final state in 0.1. */
function isAnswer({ status }: Task): boolean {
  return status === undefined || status.state === TaskState.UNSPECIFIED || endsBlockingSend(status.state);
}

interface PolledCall {
  readonly transport: Transport;
  readonly options: CallOptions;
  readonly deadline: number | undefined;
  readonly clock: Clock;
  readonly historyLength: number | undefined;
}

/** Polls a task until a send may return it. Returns the task as sent if the agent cannot be polled. */
async function pollUntilAnswer(task: Task, call: PolledCall): Promise<Task> {
  const { options, clock, historyLength } = call;
  const request = create(GetTaskRequestSchema, { id: task.id, historyLength });
  let breaks = 0;
  for (let tries = 1; ; tries++) {
    const pauseMs = backoffMs(tries, pauses);
    await pause(clock, Math.min(pauseMs, timeLeft(call) ?? pauseMs), options.signal);
    const timeoutMs = timeLeft(call);
    if (timeoutMs === 0) {
      throw new A2AError("deadlineExceeded", `the task was not done within ${options.timeoutMs} ms`, {
        metadata: { taskId: task.id },
      });
    }
    try {
      const current = await call.transport.getTask(request, { ...options, timeoutMs });
      if (isAnswer(current)) return current;
      breaks = 0;
    } catch (error) {
      if (isSilent(error)) return task;
      if (!isBreak(error) || ++breaks >= maxBreaks) throw afterSend(error);
    }
  }
}

const silentCodes: ReadonlySet<string> = new Set(["methodNotFound", "taskNotFound", "unsupportedOperation"]);

// The agent cannot return the task: it has no such method or does not know the id.
function isSilent(error: unknown): boolean {
  return error instanceof A2AError && silentCodes.has(error.code);
}

function isBreak(error: unknown): boolean {
  return error instanceof A2AError && error.code === "unavailable";
}

// The message was delivered, so the error must not look like that of a send that is safe to retry.
function afterSend(error: unknown): unknown {
  if (!isBreak(error) || !(error instanceof Error)) return error;
  return new ConnectionError(`the message was sent, but its task cannot be read: ${error.message}`, {
    cause: error,
    written: true,
  });
}

function timeLeft({ deadline, clock }: PolledCall): number | undefined {
  return deadline === undefined ? undefined : Math.max(0, deadline - clock.now());
}

interface SubscriptionSource {
  readonly transport: Operations<CallOptions>;
  /** The error of an agent that does not support subscriptions, once received. */
  refusal: A2AError | undefined;
}

/**
 * A subscription to a task of a 0.1 agent, which sends only events. It reads the task in parallel and yields it first.
 * Events that arrive before the task are already part of it. A hand-written iterator, so that `return()` works while a
 * read is pending.
 */
class V01Subscription implements AsyncIterableIterator<StreamItem, undefined> {
  readonly #leaving = new AbortController();
  readonly #items: AsyncIterator<StreamItem>;
  readonly #readTask: () => Promise<Task>;
  readonly #source: SubscriptionSource;
  /** The next event, if it was requested before the task arrived. */
  #ahead: Promise<Step<StreamItem>> | undefined;
  #isOpen = false;
  #isOver = false;

  constructor(source: SubscriptionSource, request: SubscribeToTaskRequest, options: CallOptions) {
    this.#source = source;
    const { transport } = source;
    this.#items = transport.subscribeToTask(request, { ...options, after: undefined })[Symbol.asyncIterator]();
    const { id, tenant } = request;
    this.#readTask = () => {
      const { signal: leaveSignal } = this.#leaving;
      const signal = options.signal === undefined ? leaveSignal : AbortSignal.any([options.signal, leaveSignal]);
      return transport.getTask(create(GetTaskRequestSchema, { id, tenant }), { ...options, after: undefined, signal });
    };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Step<StreamItem>> {
    if (this.#isOver) return endStep;
    if (!this.#isOpen) return this.#open();
    const ahead = this.#ahead;
    this.#ahead = undefined;
    try {
      const step = await (ahead ?? this.#nextEvent());
      return this.#isOver ? endStep : step;
    } catch (error) {
      // The task arrived before the refusal. Reporting a broken stream makes the client resubscribe, and then it gets
      // the refusal at once.
      if (ahead === undefined || !(error instanceof A2AError) || error.code !== "methodNotFound") throw error;
      this.#source.refusal = error;
      throw new A2AError("unavailable", "the agent ended the stream before it sent the task", { cause: error });
    }
  }

  async return(): Promise<Step<StreamItem>> {
    this.#isOver = true;
    this.#leaving.abort();
    await this.#items.return?.();
    return endStep;
  }

  #nextEvent(): Promise<Step<StreamItem>> {
    return this.#items.next() as Promise<Step<StreamItem>>;
  }

  async #open(): Promise<Step<StreamItem>> {
    this.#isOpen = true;
    try {
      if (this.#source.refusal !== undefined) throw this.#source.refusal;
      const task = await this.#firstTask();
      // An ended task has no further events, and not every agent ends the stream.
      if (hasEnded(task)) await this.return();
      return {
        done: false,
        value: { response: { $typeName: typeNames.StreamResponse, payload: { case: "task", value: task } } },
      };
    } catch (error) {
      if (this.#isOver) return endStep;
      await this.return();
      throw error;
    }
  }

  async #firstTask(): Promise<Task> {
    const task = this.#readTask();
    const isHere = task.then(() => undefined);
    try {
      for (;;) {
        this.#ahead = this.#nextEvent();
        const step = await Promise.race([isHere, this.#ahead]);
        if (step === undefined || step.done === true) return await task;
      }
    } catch (error) {
      const endedTask = await task.catch(() => undefined);
      if (endedTask === undefined || !hasEnded(endedTask)) throw error;
      return endedTask;
    }
  }
}

function hasEnded({ status }: Task): boolean {
  return isTerminal(status?.state ?? TaskState.UNSPECIFIED);
}
