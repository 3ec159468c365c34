import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { SendMessageRequest } from "../protocol/model.js";
import type { Operation, StreamItem } from "../protocol/operations.js";
import { isStop } from "../protocol/states.js";
import { isCut } from "./failures.js";
import { Resumption, type ResumptionOptions, type Source, subscribeToTask } from "./resumption.js";
import { numbered, TaskView } from "./task-view.js";
import { allowanceOf } from "./timing.js";

export interface LastingStreamOptions extends ResumptionOptions {
  /** Breaks in a row, without an event or a quiet half minute between them, after which the stream fails. */
  readonly maxBreaks: number;
  /** Whether the agent goes on behind the id of an event; of another one the ids mean nothing. Default: true. */
  readonly numbers?: boolean | undefined;
}

/** One streaming call. */
export interface StreamCall {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly options: CallOptions;
}

const firstPauseMs = 100;
/** A connection that stood so long was sound, whether or not it had something to tell. */
const soundMs = 30_000;

/**
 * A stream that goes on when its connection breaks: behind the last event where the agent numbers them, else from a
 * snapshot of the task, else by asking for the task again and again (design 7.5).
 */
export class LastingStream implements AsyncIterableIterator<StreamItem, undefined> {
  readonly #options: LastingStreamOptions;
  readonly #call: StreamCall;
  readonly #view: TaskView;
  readonly #left = new AbortController();
  readonly #resumption: Resumption;
  readonly #items: AsyncGenerator<StreamItem, undefined, undefined>;
  #breaks = 0;
  /** When the connection was asked for. */
  #since: number;

  constructor(options: LastingStreamOptions, call: StreamCall) {
    this.#options = options;
    this.#call = call;
    this.#since = options.clock.now();
    const { operation, request } = call;
    const left = this.#left.signal;
    const signal = call.options.signal === undefined ? left : AbortSignal.any([call.options.signal, left]);
    const allowance = allowanceOf(call.options, options.clock);
    const { numbers = true, streaming } = options;
    const toTheEnd = operation === subscribeToTask;
    const goesOn = toTheEnd || (streaming !== false && isOfKnownTask(request as SendMessageRequest));
    this.#view = new TaskView({ toTheEnd, goesOn, numbers });
    this.#resumption = new Resumption(options, { operation, request, allowance, signal, left }, this.#view);
    this.#items = this.#read();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<StreamItem, undefined>> {
    return this.#items.next();
  }

  /** Leaves the stream, also while it waits for an event, and frees its connection. */
  return(): Promise<IteratorResult<StreamItem, undefined>> {
    this.#left.abort();
    return this.#items.return(undefined);
  }

  // One generator, without another one inside: each costs every event some.
  async *#read(): AsyncGenerator<StreamItem, undefined, undefined> {
    let source = await this.#resumption.begin().catch(this.#unlessLeft);
    for (let isFirst = true; source !== undefined; isFirst = false) {
      const { ready, rest } = source;
      let failure: unknown;
      try {
        for (const item of ready) yield this.#seen(item);
        // Where the stream ends is up to the agent, unless it is asked for something else now than in the beginning.
        while (isFirst || !this.#view.isDone) {
          const step = await rest.next();
          if (step.done !== true) yield this.#seen(numbered(step.value));
          else if (this.#isOver()) return;
          else throw new A2AError("unavailable", "the agent ended the stream before the task");
        }
      } catch (error) {
        failure = this.#breakOf(error);
      } finally {
        rest.return?.().then(undefined, ignore);
      }
      source = failure === undefined ? undefined : await this.#recover(failure).catch(this.#unlessLeft);
    }
  }

  readonly #unlessLeft = (error: unknown): undefined => {
    if (!this.#left.signal.aborted) throw error;
  };

  /** The error to go on behind; `undefined` when nothing more was to come. */
  #breakOf(error: unknown): unknown {
    if (this.#left.signal.aborted) return undefined;
    if (this.#isAborted()) throw error;
    // What the agent says is heard, also behind the end of the task: that it did not take a message before that.
    if (!isCut(error)) throw error;
    return this.#view.isDone ? undefined : error;
  }

  #seen(item: StreamItem): StreamItem {
    this.#breaks = 0;
    this.#view.see(item);
    return item;
  }

  /** Nothing more is to come, now that the agent has ended the stream. */
  #isOver(): boolean {
    const { taskId, state, isDone, isLost } = this.#view;
    return taskId === "" || isStop(state) || isDone || isLost;
  }

  #isAborted(): boolean {
    return this.#call.options.signal?.aborted === true;
  }

  async #recover(failure: unknown): Promise<Source> {
    const { clock, maxBreaks } = this.#options;
    for (let error = failure; ; ) {
      if (clock.now() - this.#since >= soundMs) this.#breaks = 0;
      this.#breaks++;
      if (this.#view.taskId === "" || this.#breaks > maxBreaks) throw error;
      try {
        // The first time at once: most breaks are of a single connection.
        if (this.#breaks > 1) await this.#resumption.pause(firstPauseMs * 2 ** (this.#breaks - 2));
        this.#since = clock.now();
        return await this.#resumption.resume();
      } catch (again) {
        if (this.#isAborted() || !isCut(again)) throw again;
        error = again;
      }
    }
  }
}

function isOfKnownTask({ message }: SendMessageRequest): boolean {
  return message !== undefined && message.taskId !== "";
}

function ignore(): void {}
