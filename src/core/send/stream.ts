import { copyTask, emptyTask } from "../../protocol/fold.js";
import type { Message, Task } from "../../protocol/model.js";
import type { StreamItem } from "../../protocol/operations.js";
import { TurnAborted } from "../agent.js";
import { type Delivery, deliver } from "../ownership/claim.js";
import { readStoredTask } from "../read/read-task.js";
import { RecordReader } from "../read/record-reader.js";
import { streamFrom, streamFromNow } from "../read/subscribe.js";
import { messageItem, type StreamStart, snapshotItem, TaskStream } from "../read/task-stream.js";
import { publicFailure } from "../store-failure.js";
import { eventIdMarker, eventIdPrefix, parseEventId } from "../task/event-id.js";
import { applyRecord, foldStored } from "../task/fold.js";
import type { LiveTask, RecordObserver } from "../task/live-task.js";
import type { TurnStart } from "../turn-start.js";
import { createSendGate, type SendGate } from "./gate.js";
import {
  checkTaken,
  onceKept,
  openSend,
  type Register,
  registerLive,
  registerOf,
  type SendCall,
  startNew,
  whileExpected,
} from "./send.js";

/**
 * SendStreamingMessage (spec 3.1.2): a message, or the task and its events until it ends or wants input. A caller that
 * comes back with the id of an event goes on behind it and starts nothing.
 */
export function sendStreamingMessage(call: SendCall): AsyncIterable<StreamItem> {
  return new TaskStream(() => whileExpected(call, open), eventIdMarker(call.context));
}

async function open(call: SendCall): Promise<StreamStart> {
  const attached = await attach(call);
  if (attached !== undefined) return attached;
  const start = openSend(call);
  const register = await registerOf(call, start.entry);
  const from =
    start.send.message.taskId === ""
      ? streamNew(call, start, register)
      : streamDelivered(call, start, await deliver(call.runtime, start), register);
  return onceKept(register, Promise.resolve(from));
}

/** The stream of a message that has reached its task. */
export function streamDelivered(
  call: SendCall,
  start: TurnStart,
  delivery: Delivery,
  register: Register | undefined,
): StreamStart {
  if (delivery.kind === "queued") return streamQueued(call, start, delivery, register);
  registerLive(register, delivery.live);
  return streamClaimed(call, start, delivery);
}

/** Starts the turn of a message that names no task, and gives what comes of it. */
export function streamNew(call: SendCall, start: TurnStart, register: Register | undefined): Promise<StreamStart> {
  return new Promise((resolve, reject) => {
    const opening = {
      failed: reject,
      reply: (message: Message) => resolve({ items: [messageItem(message)] }),
      live: (live: LiveTask) => live.observe(firstSnapshot(call, live, { entry: start.entry, resolve, reject })),
    };
    startNew(call, start, opening, register);
  });
}

interface AwaitedStart {
  readonly entry: string;
  readonly resolve: (from: StreamStart | Promise<StreamStart>) => void;
  readonly reject: (error: unknown) => void;
}

// A new task's stream begins with the task up to its first event, whatever was written along with that.
function firstSnapshot(call: SendCall, live: LiveTask, { entry, resolve, reject }: AwaitedStart): RecordObserver {
  const { see } = createSendGate(entry, "stream", true);
  const task = emptyTask(live.id, live.contextId);
  const observer: RecordObserver = {
    record(record) {
      applyRecord(task, record);
      if (record.kind !== "event") return;
      live.unobserve(observer);
      resolve(behindFirst(call, live, { task, seq: record.seq, see }));
    },
    left: () => {
      if (live.failure === undefined || live.failure instanceof TurnAborted) resolve(fromFirst(call, live.id, see));
      else reject(publicFailure(live.failure));
    },
  };
  return observer;
}

interface FirstEvent {
  /** The task up to its first event. */
  readonly task: Task;
  readonly seq: number;
  readonly see: SendGate["see"];
}

function behindFirst(
  call: SendCall,
  { id, key, idPrefix }: Pick<LiveTask, "id" | "key" | "idPrefix">,
  { task, seq, see }: FirstEvent,
): StreamStart {
  const { runtime, request } = call;
  const shown = copyTask(task, { historyLength: request.configuration?.historyLength });
  const reader = new RecordReader(runtime, id, key, seq);
  return { items: [snapshotItem(shown, idPrefix, seq)], reader, idPrefix, see, restart: () => again(call, id, see) };
}

/** With the first event of a task its beginning is stored: what stands before it is little. */
const beginning = 8;

// Another process has taken the task over before anything of it was heard of here. The answer may stand in its log already,
// and more behind that, which is no part of the stream.
async function fromFirst(call: SendCall, id: string, see: SendGate["see"]): Promise<StreamStart> {
  const { runtime, request, scope } = call;
  const now = await readStoredTask(runtime, scope, id);
  checkTaken(now.task, request);
  const page = await runtime.store.recordsAfter(now.key, 0, beginning);
  const records = typeof page === "object" ? page.records : [];
  const first = records.findIndex(({ kind }) => kind === "event");
  if (first < 0) return again(call, id, see);
  const task = emptyTask(id, now.task.contextId);
  for (const record of records.slice(0, first + 1)) applyRecord(task, record);
  return behindFirst(call, now, { task, seq: first + 1, see });
}

// The stream of a send from now on: the log has gone before it was read.
export async function again(
  { runtime, request, scope }: SendCall,
  id: string,
  see: SendGate["see"],
): Promise<StreamStart> {
  checkTaken((await readStoredTask(runtime, scope, id)).task, request);
  const historyLength = request.configuration?.historyLength;
  return streamFromNow(runtime, scope, id, { see, historyLength, compacted: true });
}

// The snapshot is held back until the turn says something: an error before that is the answer of the operation.
function streamClaimed(
  call: SendCall,
  start: TurnStart,
  { live, start: run }: Delivery & { readonly kind: "claimed" },
): StreamStart {
  const { runtime, request } = call;
  const { id, key, stored, idPrefix } = live;
  const historyLength = request.configuration?.historyLength;
  const held = snapshotItem(copyTask(live.task, { historyLength }), idPrefix, stored);
  const reader = new RecordReader(runtime, id, key, stored);
  const { see } = createSendGate(start.entry, "stream", true);
  run();
  return { items: [], held, reader, idPrefix, see, restart: () => again(call, id, see) };
}

// A send that waits in the inbox sees the running turn too: the task as it was before the message was put, then all events.
function streamQueued(
  call: SendCall,
  start: TurnStart,
  { before }: Delivery & { readonly kind: "queued" },
  register: Register | undefined,
): StreamStart {
  const { runtime, request } = call;
  const { key, id, seq, incarnation } = before.head;
  register?.({ key, id, seq });
  const idPrefix = eventIdPrefix(id, incarnation);
  const { see } = createSendGate(start.entry, "stream");
  const reader = new RecordReader(runtime, id, key, seq);
  const task = foldStored(before, { historyLength: request.configuration?.historyLength });
  return { items: [snapshotItem(task, idPrefix, seq)], reader, idPrefix, see, restart: () => again(call, id, see) };
}

/** The stream of a caller that comes back with the id of an event; `undefined` when it has none that leads anywhere. */
export async function attach({ runtime, context, scope, request, name }: SendCall): Promise<StreamStart | undefined> {
  const position = context.after === undefined ? undefined : parseEventId(context.after);
  if (position === undefined) return undefined;
  // Who names a task means that one.
  if (name !== undefined && position.taskId !== request.message?.taskId) return undefined;
  const head = await runtime.store.head(scope, position.taskId);
  if (head === undefined) return undefined;
  return streamFrom(runtime, scope, head, {
    after: position,
    see: createSendGate("", "stream", true).see,
    untilIdle: true,
    historyLength: request.configuration?.historyLength,
  });
}
