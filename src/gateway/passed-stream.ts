import { withEventId } from "../protocol/extensions.js";
import type { StreamItem } from "../protocol/operations.js";

/** Somebody who wants to know which task a stream is of. */
export interface StreamWatch {
  /** Told the id of the task with each event that has one. */
  seen(taskId: string): void;
  /** Called when no more is to come, or nobody listens any more. */
  over(): void;
}

export interface PassedStreamOptions {
  /** Events carry their ids in their metadata. */
  readonly marks: boolean;
  /** Aborts when the caller has gone. */
  readonly signal: AbortSignal;
  /** Counts the stream as under way from its first event on, until the given function is called. */
  readonly enter: () => () => void;
  /** What a failure is for the caller. */
  readonly failed: (error: unknown) => unknown;
  readonly watch?: StreamWatch | undefined;
}

type Step = IteratorResult<StreamItem, undefined>;

/** A stream of the agent behind, event by event as the caller takes them. Leaving it leaves the agent's at once. */
export class PassedStream implements AsyncIterableIterator<StreamItem, undefined> {
  readonly #items: AsyncIterator<StreamItem, unknown>;
  readonly #options: PassedStreamOptions;
  #exit: (() => void) | undefined;

  constructor(items: AsyncIterable<StreamItem>, options: PassedStreamOptions) {
    this.#items = items[Symbol.asyncIterator]();
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Step> {
    this.#exit ??= this.#options.enter();
    try {
      const step = await this.#items.next();
      if (step.done === true) return this.#end();
      this.#tell(step.value);
      return { done: false, value: this.#options.marks ? marked(step.value) : step.value };
    } catch (error) {
      const end = this.#end();
      if (this.#options.signal.aborted) return end;
      throw this.#options.failed(error);
    }
  }

  async return(): Promise<Step> {
    await this.#items.return?.();
    return this.#end();
  }

  #tell({ response: { payload } }: StreamItem): void {
    const { watch } = this.#options;
    if (watch === undefined || payload.case === undefined || payload.case === "message") return;
    const taskId = payload.case === "task" ? payload.value.id : payload.value.taskId;
    if (taskId !== "") watch.seen(taskId);
  }

  #end(): Step {
    this.#exit?.();
    this.#options.watch?.over();
    return { done: true, value: undefined };
  }
}

function marked(item: StreamItem): StreamItem {
  return item.id === undefined ? item : { ...item, response: withEventId(item.response, item.id) };
}
