import { sizeOfTask } from "../../protocol/check/size.js";
import type { ServerContext } from "../../protocol/context.js";
import { A2AError, taskNotFound } from "../../protocol/errors.js";
import type { CopyOptions } from "../../protocol/fold.js";
import type { StreamItem } from "../../protocol/operations.js";
import { isTerminal } from "../../protocol/states.js";
import type { Head } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { type EventPosition, eventIdMarker, eventIdPrefix, parseEventId } from "../task/event-id.js";
import { readState } from "../task/record.js";
import { currentCopy, readStoredTask, type TaskRef, type TaskSnapshot } from "./read-task.js";
import { RecordReader } from "./record-reader.js";
import { type StreamStart, snapshotItem, TaskStream } from "./task-stream.js";

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
    return streamFrom(runtime, head, after);
  }, eventIdMarker(context));
  stream.onEnd = leavingOf(subscriptions, stream);
  return stream;
}

// A function of its own: one made above would keep the request as long as the stream.
function leavingOf<T>(members: Set<T>, member: T): () => void {
  return () => members.delete(member);
}

export interface StreamFromOptions {
  readonly see: StreamStart["see"];
  readonly untilIdle?: boolean | undefined;
  /** What the snapshots show of the task. Default: all. */
  readonly shown?: CopyOptions | undefined;
  /** The log was dropped, as happens some time after a task ends. */
  readonly compacted?: boolean | undefined;
}

/**
 * A subscription from a position. It starts with a fresh snapshot if the position is unusable: of another task or
 * incarnation, beyond the head, or compacted. Never an error, never a wait.
 */
function streamFrom(
  runtime: Runtime,
  head: Head,
  after: EventPosition | undefined,
): StreamStart | Promise<StreamStart> {
  if (after === undefined || !isPositionIn(after, head)) return streamFromNow(runtime, head, subscriptionOptions);
  const { id, scope, incarnation } = head;
  // An open stream keeps no more of the task than this.
  const restart = (): Promise<StreamStart> =>
    streamFromNow(runtime, { id, scope }, { ...subscriptionOptions, compacted: true });
  const reader = new RecordReader(runtime, head, after.seq);
  return { items: [], reader, idPrefix: eventIdPrefix(id, incarnation), see: subscriptionOptions.see, restart };
}

/** A stream that starts with the current task, even if its log was dropped before the read. */
export async function streamFromNow(runtime: Runtime, ref: TaskRef, options: StreamFromOptions): Promise<StreamStart> {
  const { see, untilIdle, shown, compacted } = options;
  const current = compacted === true ? undefined : currentCopy(runtime, ref, shown);
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
  const { scope } = ref;
  // An open stream keeps no more of the task than this.
  const restart = (): Promise<StreamStart> => streamFromNow(runtime, { id, scope }, { ...options, compacted: true });
  return { items, reader, idPrefix, see, untilIdle, restart };
}

/** Whether an event id belongs to this task and incarnation, at or before the head. */
export function isPositionIn({ taskId, incarnation, seq }: EventPosition, head: Head): boolean {
  return taskId === head.id && incarnation === head.incarnation && seq <= head.seq;
}

/** A subscription ends with its task. */
const subscriptionOptions: StreamFromOptions = {
  see(record) {
    const state = readState(record);
    return state !== undefined && isTerminal(state) ? "answer" : undefined;
  },
};
