import { endStep, type Step } from "../../protocol/async/steps.js";
import { sizeOfTask } from "../../protocol/check/size.js";
import type { ServerContext } from "../../protocol/context.js";
import { A2AError, taskNotFound } from "../../protocol/errors.js";
import type { CopyOptions } from "../../protocol/fold.js";
import { type Message, type StreamResponse, type Task, typeNames } from "../../protocol/model.js";
import type { StreamItem } from "../../protocol/operations.js";
import { isTerminal } from "../../protocol/states.js";
import type { Head, LogRecord } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { type EventPosition, eventId, eventIdMarker, eventIdPrefix, parseEventId } from "../task/event-id.js";
import { readState } from "../task/record.js";
import { copyIfCurrent, readStoredTask, type TaskRef, type TaskSnapshot } from "./read-task.js";
import { type ReadResult, RecordReader } from "./record-reader.js";

// How a task is followed. A stream starts with items that are there at once, a snapshot or a message, and goes on with the
// records behind them, which a `RecordReader` reads from memory or from the store. `gate` decides at which record it ends.
//
//   not started ── first `next` ──▶ open ── records, until `gate`, the end of the task or the reader ends it ──▶ over
//                                    ▲  │
//                                    └──┘ the log no longer reaches back to the reader: `restart` with a fresh snapshot
//
// Invariant: a stream shows every event after its snapshot once and in order, however slow its reader is. It holds no
// position in memory that others wait for.

/**
 * SubscribeToTask (spec 3.1.6): the task, then every event until it ends. With the id of a seen event there is no
 * snapshot: the stream starts with the next event, also for a finished task.
 */
export function subscribeToTask(
  runtime: Runtime,
  { scope, id }: TaskRef,
  context: ServerContext,
): AsyncIterable<StreamItem> {
  const { subscriptions } = runtime;
  const stream = new TaskStream(async () => {
    // Not earlier: an unread stream never ends.
    subscriptions.add(stream);
    const head = await runtime.store.head(scope, id);
    if (head === undefined) throw taskNotFound(id);
    if (context.after === undefined && isTerminal(head.state)) {
      throw new A2AError("unsupportedOperation", "the task has ended: there is nothing to subscribe to", {
        metadata: { taskId: id },
      });
    }
    const after = context.after === undefined ? undefined : parseEventId(context.after);
    return streamAfter(runtime, head, after);
  }, eventIdMarker(context));
  stream.onEnd = removeLater(subscriptions, stream);
  return stream;
}

// A function of its own: one made above would keep the request as long as the stream.
function removeLater<T>(members: Set<T>, member: T): () => void {
  return () => members.delete(member);
}

export interface StreamFromOptions {
  readonly gate: StreamStart["gate"];
  readonly untilIdle?: boolean | undefined;
  /** Parts of the task in the snapshots. Default: all. */
  readonly shown?: CopyOptions | undefined;
  /** The log was dropped, as happens some time after a task ends. */
  readonly compacted?: boolean | undefined;
}

/**
 * A subscription from a position. It starts with a fresh snapshot if the position is unusable: of another task or
 * incarnation, beyond the head, or compacted. Never an error, never a wait.
 */
function streamAfter(
  runtime: Runtime,
  head: Head,
  after: EventPosition | undefined,
): StreamStart | Promise<StreamStart> {
  if (after === undefined || !isPositionIn(after, head)) return streamFromNow(runtime, head, subscriptionOptions);
  const { id, scope, incarnation } = head;
  const reader = new RecordReader(runtime, head, after.seq);
  const restart = restartLater(runtime, { id, scope }, subscriptionOptions);
  return { items: [], reader, idPrefix: eventIdPrefix(id, incarnation), gate: subscriptionOptions.gate, restart };
}

/** A stream that starts with the current task, even if its log was dropped before the read. */
export async function streamFromNow(runtime: Runtime, ref: TaskRef, options: StreamFromOptions): Promise<StreamStart> {
  const { gate, untilIdle, shown, compacted } = options;
  const current = compacted === true ? undefined : copyIfCurrent(runtime, ref, shown);
  const stored = (): Promise<TaskSnapshot> =>
    runtime.reads(
      ref.scope,
      () => readStoredTask(runtime, ref, shown),
      (read) => sizeOfTask(read.task),
    );
  const { id, key, idPrefix, seq, state, task } = current ?? (await stored());
  const items = [snapshotItem(task, idPrefix, seq)];
  if (isTerminal(state)) return { items };
  const reader = new RecordReader(runtime, { id, key }, seq);
  return {
    items,
    reader,
    idPrefix,
    gate,
    untilIdle,
    restart: restartLater(runtime, { id, scope: ref.scope }, options),
  };
}

// A separate function, because a closure inside a longer one would keep that function's variables alive as long as the
// stream.
function restartLater(runtime: Runtime, ref: TaskRef, options: StreamFromOptions): () => Promise<StreamStart> {
  return () => streamFromNow(runtime, ref, { ...options, compacted: true });
}

/** Whether an event id belongs to this task and incarnation, at or before the head. */
export function isPositionIn({ taskId, incarnation, seq }: EventPosition, head: Head): boolean {
  return taskId === head.id && incarnation === head.incarnation && seq <= head.seq;
}

const noItems: readonly StreamItem[] = [];

/** A subscription ends with its task. */
const subscriptionOptions: StreamFromOptions = {
  gate(record) {
    const state = readState(record);
    return state !== undefined && isTerminal(state) ? "answer" : undefined;
  },
};

/** Whether a record ends the stream: with an answer, or with an error. */
export type GateResult = "answer" | { readonly error: A2AError } | undefined;

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
  readonly gate?: ((record: LogRecord) => GateResult) | undefined;
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
    return endStep;
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
        if (this.#isEnded) return endStep;
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
    const { reader, idPrefix, gate, untilIdle, restart } = from;
    // Without the items: they would stay as long as the stream.
    this.#from = { items: noItems, reader, idPrefix, gate, untilIdle, restart };
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
      const result = this.#from?.gate?.(record);
      if (record.kind === "event") {
        this.#showHeld();
        const item = this.#from?.reader?.makeItem(record, this.#from.idPrefix ?? "");
        if (item !== undefined) this.#buffer.push(item);
      }
      if (result === undefined) continue;
      if (result !== "answer") this.#failure = result;
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
  const response: StreamResponse = { $typeName: typeNames.StreamResponse, payload: { case: "task", value: task } };
  return { response, id: eventId(idPrefix, seq) };
}

/** The stream item of a message. It has no id, since there is nothing to resume. */
export function messageItem(message: Message): StreamItem {
  return { response: { $typeName: typeNames.StreamResponse, payload: { case: "message", value: message } } };
}
