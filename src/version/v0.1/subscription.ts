import { create } from "@bufbuild/protobuf";
import { over, type Step } from "../../protocol/async/steps.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { GetTaskRequestSchema, type SubscribeToTaskRequest, type Task, TaskState } from "../../protocol/model.js";
import type { Operations, StreamItem } from "../../protocol/operations.js";
import { isTerminal } from "../../protocol/states.js";

export interface SubscriptionSource {
  readonly transport: Operations<CallOptions>;
  /** The error of an agent that does not support subscriptions, once received. */
  refusal: A2AError | undefined;
}

/**
 * A subscription to a task of a 0.1 agent, which sends only events. It reads the task in parallel and yields it first.
 * Events that arrive before the task are already part of it. A hand-written iterator, so that `return()` works while a
 * read is pending.
 */
export class V01Subscription implements AsyncIterableIterator<StreamItem, undefined> {
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
    if (this.#isOver) return over;
    if (!this.#isOpen) return this.#open();
    const ahead = this.#ahead;
    this.#ahead = undefined;
    try {
      const step = await (ahead ?? this.#nextEvent());
      return this.#isOver ? over : step;
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
    return over;
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
        value: { response: { $typeName: "lf.a2a.v1.StreamResponse", payload: taskPayload(task) } },
      };
    } catch (error) {
      if (this.#isOver) return over;
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

function taskPayload(value: Task): StreamItem["response"]["payload"] {
  return { case: "task", value };
}
