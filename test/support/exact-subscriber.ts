import type { LogRecord, TaskStore } from "../../src/core/ports.js";
import { parseEventId } from "../../src/core/task/event-id.js";
import { applyRecord } from "../../src/core/task/fold.js";
import type { Scope } from "../../src/protocol/context.js";
import { emptyTask } from "../../src/protocol/fold.js";
import type { StreamItem } from "../../src/protocol/operations.js";

/** A task's whole log, from its first record, to compare a subscriber against. */
export interface TaskLog {
  readonly id: string;
  readonly contextId: string;
  readonly records: readonly LogRecord[];
}

/**
 * Records everything that the streams of one task deliver, each stream resuming where the previous one ended. Compares
 * it with the log: the task as of some position, then every later event exactly once.
 */
export class ExactSubscriber {
  taskId = "";
  /** The event id with which the next stream resumes. */
  lastId: string | undefined;
  readonly items: StreamItem[] = [];

  see(item: StreamItem): void {
    this.items.push(item);
    if (item.id === undefined) return;
    this.lastId = item.id;
    this.taskId ||= parseEventId(item.id)?.taskId ?? "";
  }

  /** Reads a stream to its end, or `most` items of it. */
  async read(stream: AsyncIterable<StreamItem>, maxItems = Number.POSITIVE_INFINITY): Promise<void> {
    const iterator = stream[Symbol.asyncIterator]();
    for (let itemsLeft = maxItems; itemsLeft > 0; itemsLeft--) {
      const step = await iterator.next();
      if (step.done === true) return;
      this.see(step.value);
    }
    await iterator.return?.();
  }

  /** Lists every deviation from the log; with `isWhole` also events that were never delivered. */
  differences(log: TaskLog, isWhole = false): readonly string[] {
    const messages: string[] = [];
    let position = 0;
    for (const { response, id } of this.items) {
      const seq = id === undefined ? undefined : parseEventId(id)?.seq;
      if (seq === undefined) messages.push(`a ${response.payload.case} without an id`);
      else if (response.payload.case === "task") {
        if (position > 0) messages.push(`a second snapshot, at ${seq} after ${position}`);
        if (textOf(response.payload.value) !== textOf(taskAt(log, seq)))
          messages.push(`a snapshot at ${seq} of what the task never was`);
      } else {
        if (position === 0) messages.push(`event ${seq} before any snapshot`);
        messages.push(...differenceOf(log, position, { seq, response }));
      }
      position = seq ?? position;
    }
    const expectedEvent = isWhole ? eventAfter(log, position) : undefined;
    if (expectedEvent !== undefined)
      messages.push(`nothing behind ${position}, where event ${expectedEvent.seq} follows`);
    return messages;
  }
}

function differenceOf(
  log: TaskLog,
  position: number,
  { seq, response }: { readonly seq: number; readonly response: StreamItem["response"] },
): readonly string[] {
  const expected = eventAfter(log, position);
  if (expected === undefined) return [`event ${seq} behind ${position}, where nothing is stored`];
  if (expected.seq !== seq) return [`event ${seq} behind ${position}, where ${expected.seq} follows`];
  return textOf(expected.event) === textOf(response) ? [] : [`event ${seq}, not as it is stored`];
}

function eventAfter({ records }: TaskLog, seq: number): (LogRecord & { readonly kind: "event" }) | undefined {
  return records.find((record) => record.seq > seq && record.kind === "event") as
    | (LogRecord & { readonly kind: "event" })
    | undefined;
}

function taskAt({ id, contextId, records }: TaskLog, seq: number): object {
  const task = emptyTask(id, contextId);
  for (const record of records) if (record.seq <= seq) applyRecord(task, record);
  return task;
}

/** Reads the log of a task from its store. Throws when there is none. */
export async function storedLog(store: TaskStore, scope: Scope, taskId: string): Promise<TaskLog> {
  const head = await store.head(scope, taskId);
  const page = head && (await store.recordsAfter(head.key, 0, head.seq));
  if (head === undefined || typeof page !== "object") throw new TypeError(`there is no log of ${taskId}`);
  return { id: head.id, contextId: head.contextId, records: page.records };
}

// Sorts members, since messages read from a wire keep the order they came in.
const textOf = (value: object): string => JSON.stringify(value, (_, each: unknown) => sortKeys(each));

function sortKeys(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
