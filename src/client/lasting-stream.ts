import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { TaskState } from "../protocol/model.js";
import type { Operation, StreamItem } from "../protocol/operations.js";
import { isStop, isTerminal } from "../protocol/states.js";
import { isCut } from "./failures.js";
import { Resumption, type ResumptionOptions, type Source, subscribeToTask } from "./resumption.js";
import { numbered, TaskView } from "./task-view.js";
import { allowanceOf, pause } from "./timing.js";

export interface LastingStreamOptions extends ResumptionOptions {
  /** Breaks in a row, without an event between them, after which the stream fails. */
  readonly maxBreaks: number;
}

/** One streaming call. */
export interface StreamCall {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly options: CallOptions;
}

type Result = IteratorResult<StreamItem, undefined>;

const firstPauseMs = 100;

/**
 * A stream that goes on when its connection breaks: behind the last event where the agent numbers them, else from a
 * snapshot of the task, else by asking for the task again and again (design 7.5).
 */
export class LastingStream implements AsyncIterableIterator<StreamItem> {
  readonly #options: LastingStreamOptions;
  readonly #call: StreamCall;
  readonly #view = new TaskView();
  readonly #left = new AbortController();
  readonly #resumption: Resumption;
  #ready: StreamItem[] = [];
  #rest: AsyncIterator<StreamItem, unknown> | undefined;
  #breaks = 0;
  #ended = false;

  constructor(options: LastingStreamOptions, call: StreamCall) {
    this.#options = options;
    this.#call = call;
    const { operation, request } = call;
    const { signal } = call.options;
    const allowance = allowanceOf(call.options, options.clock);
    this.#resumption = new Resumption(
      options,
      { operation, request, allowance, signal, left: this.#left.signal },
      this.#view,
    );
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    const item = this.#ready.shift();
    if (item !== undefined) return Promise.resolve(this.#give(item));
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    if (this.#rest === undefined) return this.#resumption.begin().then(this.#goOn).catch(this.#fail);
    return this.#rest.next().then(this.#onStep, this.#onError);
  }

  /** Leaves the stream, also while it waits for an event, and frees its connection. */
  async return(): Promise<Result> {
    this.#ready = [];
    this.#left.abort();
    await this.#rest?.return?.();
    return this.#end();
  }

  readonly #onStep = (step: IteratorResult<StreamItem, unknown>): Result | Promise<Result> => {
    if (step.done !== true) return this.#give(numbered(step.value));
    if (this.#isOver(false)) return this.#end();
    return this.#recover(new A2AError("unavailable", "the agent ended the stream before the task"));
  };

  readonly #onError = (error: unknown): Result | Promise<Result> => {
    if (this.#isOver(true)) return this.#end();
    return isCut(error) ? this.#recover(error) : this.#fail(error);
  };

  readonly #fail = (error: unknown): Result => {
    const isLeft = this.#left.signal.aborted;
    this.#end();
    if (!isLeft) throw error;
    return { done: true, value: undefined };
  };

  readonly #goOn = ({ ready, rest }: Source): Promise<Result> => {
    this.#ready.push(...ready);
    this.#rest = rest;
    return this.next();
  };

  #give(item: StreamItem): Result {
    this.#breaks = 0;
    this.#view.see(item);
    return { done: false, value: item };
  }

  #end(): Result {
    this.#ended = true;
    return { done: true, value: undefined };
  }

  // Nobody listens any more, or nothing more is to come. After an error only what ends a stream for certain counts.
  #isOver(broken: boolean): boolean {
    const { answered, taskId, state } = this.#view;
    if (this.#left.signal.aborted || answered || isTerminal(state)) return true;
    if (!broken) return taskId === "" || isStop(state);
    return this.#call.operation !== subscribeToTask && state === TaskState.INPUT_REQUIRED;
  }

  async #recover(cause: unknown): Promise<Result> {
    const { clock, maxBreaks } = this.#options;
    if (this.#view.taskId === "") return this.#fail(cause);
    for (let error = cause; ; ) {
      this.#breaks++;
      if (this.#breaks > maxBreaks) return this.#fail(error);
      try {
        // The first time at once: most breaks are of a single connection.
        const pauseMs = this.#breaks === 1 ? 0 : firstPauseMs * 2 ** (this.#breaks - 2);
        if (pauseMs > 0) await pause(clock, pauseMs, [this.#call.options.signal, this.#left.signal]);
        return await this.#goOn(await this.#resumption.resume());
      } catch (again) {
        if (this.#left.signal.aborted || !isCut(again)) return this.#fail(again);
        error = again;
      }
    }
  }
}
