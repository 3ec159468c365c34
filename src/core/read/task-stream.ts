import { over, type Step } from "../../protocol/async/steps.js";
import type { A2AError } from "../../protocol/errors.js";
import type { Message, StreamResponse, Task } from "../../protocol/model.js";
import type { StreamItem } from "../../protocol/operations.js";
import type { LogRecord } from "../ports.js";
import { eventId } from "../task/event-id.js";
import type { ReadResult, RecordReader } from "./record-reader.js";

// Reads of tasks: one task, pages of them, conversations, and streams that follow a log.

/** Whether a record ends the stream: with an answer, or with an error. */
export type Verdict = "answer" | { readonly error: A2AError } | undefined;

/** The start of a stream. */
export interface StreamStart {
  /** Available at once: a message, or the snapshot. */
  readonly items: readonly StreamItem[];
  /** Delivered with the next event, unless an error comes first. */
  readonly heldItem?: StreamItem | undefined;
  /** `undefined` when the items are everything. */
  readonly reader?: RecordReader | undefined;
  readonly idPrefix?: string | undefined;
  /** Decides after each record whether the stream ends. */
  readonly see?: ((record: LogRecord) => Verdict) | undefined;
  /** End once everything was read and the task has no running turn. */
  readonly untilIdle?: boolean | undefined;
  /** Restarts the stream when the log no longer reaches back to the reader. */
  readonly restart?: (() => Promise<StreamStart>) | undefined;
}

/**
 * The events of one task as an async iterator. It buffers what one read returned, so that a reader that keeps up pays
 * for one wake-up per batch, not per event. Ends without an error when the reader leaves.
 */
export class TaskStream implements AsyncIterableIterator<StreamItem> {
  #start: (() => Promise<StreamStart>) | undefined;
  readonly #mark: ((item: StreamItem) => StreamItem) | undefined;
  #from: StreamStart | undefined;
  #heldItem: StreamItem | undefined;
  readonly #buffer: StreamItem[] = [];
  /** Called when nothing more will be read; possibly more than once. */
  onEnd: (() => void) | undefined;
  #index = 0;
  #isEnded = false;
  #failure: { readonly error: unknown } | undefined;

  /** `mark`: transforms each item. Default: unchanged. */
  constructor(start: () => Promise<StreamStart>, mark?: ((item: StreamItem) => StreamItem) | undefined) {
    this.#start = start;
    this.#mark = mark;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step<StreamItem>> {
    const ready = this.#shift();
    return ready === undefined ? this.#read() : Promise.resolve({ done: false, value: ready });
  }

  async return(): Promise<Step<StreamItem>> {
    this.#finish();
    return over;
  }

  /**
   * Ends the stream for a reader that can resume elsewhere. A stream that has not started fails, since its reader has
   * nowhere to resume from.
   */
  dismiss(error: unknown): void {
    if (this.#from === undefined && !this.#isEnded) this.#failure = { error };
    this.#finish();
  }

  async #read(): Promise<Step<StreamItem>> {
    try {
      for (;;) {
        const ready = this.#shift();
        if (ready !== undefined) return { done: false, value: ready };
        if (this.#failure !== undefined) throw this.#failure.error;
        if (this.#isEnded) return over;
        if (this.#start !== undefined) {
          await this.#open(this.#start);
          continue;
        }
        const result = await this.#from?.reader?.next(this.#from.untilIdle);
        if (result === "compacted") await this.#openAgain();
        else if (!this.#isEnded) this.#take(result ?? "ended");
      }
    } catch (error) {
      this.#failure = undefined;
      this.#finish();
      throw error;
    }
  }

  // A stream waiting for its next event keeps no reference to the last one.
  #shift(): StreamItem | undefined {
    const item = this.#buffer[this.#index++];
    if (this.#index >= this.#buffer.length) {
      this.#buffer.length = 0;
      this.#index = 0;
    }
    return item === undefined || this.#mark === undefined ? item : this.#mark(item);
  }

  async #open(start: () => Promise<StreamStart>): Promise<void> {
    this.#start = undefined;
    this.#begin(await start());
  }

  async #openAgain(): Promise<void> {
    this.#from?.reader?.close();
    const restart = this.#from?.restart;
    if (restart === undefined) this.#finish();
    else await this.#open(restart);
  }

  #begin(from: StreamStart): void {
    // The reader left while the stream was opening: release the record reader.
    if (this.#isEnded) return from.reader?.close();
    this.#from = { ...from, items: [], heldItem: undefined };
    this.#heldItem = from.heldItem;
    this.#buffer.push(...from.items);
    if (from.reader === undefined) this.#isEnded = true;
  }

  #take(result: Exclude<ReadResult, "compacted">): void {
    if (typeof result === "string") {
      this.#showHeld();
      return this.#finish();
    }
    for (const record of result) {
      const verdict = this.#from?.see?.(record);
      if (record.kind === "event") {
        this.#showHeld();
        const item = this.#from?.reader?.itemOf(record, this.#from.idPrefix ?? "");
        if (item !== undefined) this.#buffer.push(item);
      }
      if (verdict === undefined) continue;
      if (verdict !== "answer") this.#failure = verdict;
      else this.#showHeld();
      return this.#finish();
    }
  }

  #showHeld(): void {
    if (this.#heldItem === undefined) return;
    this.#buffer.push(this.#heldItem);
    this.#heldItem = undefined;
  }

  #finish(): void {
    this.#isEnded = true;
    this.#heldItem = undefined;
    this.#from?.reader?.close();
    this.onEnd?.();
  }
}

/** The stream item of a snapshot; its id is that of the last record folded in. */
export function snapshotItem(task: Task, idPrefix: string, seq: number): StreamItem {
  const response: StreamResponse = { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "task", value: task } };
  return { response, id: eventId(idPrefix, seq) };
}

/** The stream item of a message. It has no id, since there is nothing to resume. */
export function messageItem(message: Message): StreamItem {
  return { response: { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "message", value: message } } };
}
