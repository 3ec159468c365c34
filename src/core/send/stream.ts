import type { A2AError } from "../../protocol/errors.js";
import { copyHistory, copyTask, emptyTask } from "../../protocol/fold.js";
import type { Message, Task } from "../../protocol/model.js";
import type { StreamItem } from "../../protocol/operations.js";
import { isTerminal } from "../../protocol/states.js";
import { TurnAborted } from "../agent.js";
import type { Delivery } from "../ownership/deliver.js";
import type { Head, LogRecord } from "../ports.js";
import { foldLog, isMessageTaken, readStoredTask } from "../read/read-task.js";
import { RecordReader } from "../read/record-reader.js";
import {
  isPositionIn,
  messageItem,
  type StreamFromOptions,
  type StreamStart,
  snapshotItem,
  streamFromNow,
  TaskStream,
} from "../read/subscribe.js";
import { maskStoreFailure } from "../store-failure.js";
import { eventIdMarker, eventIdPrefix, parseEventId } from "../task/event-id.js";
import { applyRecord, foldStored } from "../task/fold.js";
import type { LiveTask, RecordObserver } from "../task/live-task.js";
import type { OutcomeReceiver } from "../turn-start.js";
import { createSendGate, messageNotTaken, type SendGate } from "./gate.js";
import {
  answerOptions,
  assertMessageTaken,
  type EarlierSend,
  registerLive,
  runSend,
  type SendCall,
  type SendRenderer,
  type SentMessage,
  send,
  startNew,
} from "./send.js";

// The answer of a streaming send: a message, or the task and its events until the gate ends the stream.
//
// A new task's stream starts with the task up to its first event. A follow-up's starts with the task before its message,
// and shows the events of the turn that runs until then. A caller that passes an event id resumes after it, and a repeated
// idempotent send starts where the first one did. When the log no longer reaches back, the stream goes on with a snapshot
// (`restartStream`). How records are followed is in read/subscribe.ts.

/** SendStreamingMessage (spec 3.1.2). A caller that passes an event id resumes after it and starts nothing. */
export function sendStreamingMessage(call: SendCall): AsyncIterable<StreamItem> {
  const open = async (): Promise<StreamStart> => (await resume(call)) ?? send(call, streamRenderer);
  return new TaskStream(() => runSend(() => call, open), eventIdMarker(call.context));
}

/** Answers with a stream: a message, or the task and its events until it ends or needs input. */
const streamRenderer: SendRenderer<StreamStart> = {
  reply: (message) => ({ items: [messageItem(message)] }),
  answerNew: streamNew,
  async answerDelivery(message, delivery) {
    return delivery.kind === "queued" ? streamQueued(message, delivery) : streamClaimed(message, delivery);
  },
  answerRepeat: streamAgain,
};

function streamNew(message: SentMessage): Promise<StreamStart> {
  const { call, start } = message;
  const { entry } = start;
  const gate = createSendGate({ entry }, "stream", true);
  return new Promise((resolve, reject) => startNew(message, new NewStream({ call, gate, resolve, reject })));
}

/** A new task's stream that has not started yet. */
interface PendingStream {
  readonly call: SendCall;
  readonly gate: SendGate;
  readonly resolve: (from: StreamStart | Promise<StreamStart>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Starts the stream of a new task: with a reply, or with the task up to its first event, whatever was written together
 * with it. Keeps nothing from then on, since the turn keeps its receiver until it ends.
 */
class NewStream implements OutcomeReceiver, RecordObserver {
  #pending: PendingStream | undefined;
  #live: LiveTask | undefined;
  #task: Task | undefined;

  constructor(pending: PendingStream) {
    this.#pending = pending;
  }

  reply(message: Message): void {
    this.#take()?.resolve(streamRenderer.reply(message));
  }

  fail(error: A2AError): void {
    this.#take()?.reject(error);
  }

  task(live: LiveTask): void {
    this.#live = live;
    this.#task = emptyTask(live.id, live.contextId);
    live.observe(this);
  }

  record(record: LogRecord): void {
    const live = this.#live;
    const task = this.#task;
    if (live === undefined || task === undefined) return;
    applyRecord(task, record);
    if (record.kind !== "event") return;
    const pending = this.#take();
    if (pending === undefined) return;
    const { call, gate, resolve } = pending;
    resolve(startAfterFirst(call, live, { task, seq: record.seq, gate }));
  }

  onLeave(): void {
    const live = this.#live;
    const pending = this.#take();
    if (live === undefined || pending === undefined) return;
    const { call, gate, resolve, reject } = pending;
    if (live.failure === undefined || live.failure instanceof TurnAborted) resolve(fromFirst(call, live.id, gate));
    else reject(maskStoreFailure(live.failure));
  }

  /** What waits for the start, which is no longer kept. */
  #take(): PendingStream | undefined {
    const pending = this.#pending;
    this.#live?.unobserve(this);
    this.#pending = undefined;
    this.#live = undefined;
    this.#task = undefined;
    return pending;
  }
}

interface FirstEvent {
  /** The task up to its first event. */
  readonly task: Task;
  readonly seq: number;
  readonly gate: SendGate;
}

function startAfterFirst(
  call: SendCall,
  { id, key, idPrefix }: Pick<LiveTask, "id" | "key" | "idPrefix">,
  { task, seq, gate }: FirstEvent,
): StreamStart {
  const { runtime } = call;
  const copy = copyTask(task, answerOptions(call));
  const reader = new RecordReader(runtime, { id, key }, seq);
  return {
    items: [snapshotItem(copy, idPrefix, seq)],
    reader,
    idPrefix,
    gate,
    restart: () => restartStream(call, id, gate),
  };
}

/** The first records of a task are stored with its first event, so few precede it. */
const beginning = 8;

// Another process took the task over before this one saw any of it. Its log may already have the answer, and later
// events that are not part of the stream.
async function fromFirst(call: SendCall, id: string, gate: SendGate): Promise<StreamStart> {
  const { runtime, request, scope } = call;
  const current = await readStoredTask(runtime, { scope, id });
  assertMessageTaken(current.task, request);
  const page = await runtime.store.recordsAfter(current.key, 0, beginning);
  const records = typeof page === "object" ? page.records : [];
  const first = records.findIndex(({ kind }) => kind === "event");
  if (first < 0) return restartStream(call, id, gate);
  const task = emptyTask(id, current.task.contextId);
  for (const record of records.slice(0, first + 1)) applyRecord(task, record);
  return startAfterFirst(call, current, { task, seq: first + 1, gate });
}

// The stream of a send from the current state, because the log was dropped before it was read.
async function restartStream(call: SendCall, id: string, gate: StreamStart["gate"]): Promise<StreamStart> {
  const { runtime, request, scope } = call;
  assertMessageTaken((await readStoredTask(runtime, { scope, id })).task, request);
  return streamFromNow(runtime, { scope, id }, { gate, shown: answerOptions(call), compacted: true });
}

// The snapshot is held back until the turn's first event: an error before it is the answer of the operation.
function streamClaimed(
  { call, start, register }: SentMessage,
  { live, start: run }: Delivery & { readonly kind: "claimed" },
): StreamStart {
  registerLive(register, live);
  const { runtime } = call;
  const { id, storedSeq, idPrefix } = live;
  const heldItem = snapshotItem(copyTask(live.task, answerOptions(call)), idPrefix, storedSeq);
  const reader = new RecordReader(runtime, live, storedSeq);
  const gate = createSendGate(start, "stream", true);
  run();
  return { items: [], heldItem, reader, idPrefix, gate, restart: () => restartStream(call, id, gate) };
}

// A send that waits in the inbox also sees the running turn: the task before the message was put, then all events.
function streamQueued(
  { call, start, register }: SentMessage,
  { before }: Delivery & { readonly kind: "queued" },
): StreamStart {
  const { runtime } = call;
  const { key, id, seq, incarnation } = before.head;
  register?.({ key, id, seq });
  const idPrefix = eventIdPrefix(id, incarnation);
  const gate = createSendGate(start, "stream");
  const reader = new RecordReader(runtime, { id, key }, seq);
  const task = foldStored(before, answerOptions(call));
  return {
    items: [snapshotItem(task, idPrefix, seq)],
    reader,
    idPrefix,
    gate,
    restart: () => restartStream(call, id, gate),
  };
}

/** The stream of a caller that resumes with an event id; `undefined` without a usable id. */
async function resume(call: SendCall): Promise<StreamStart | undefined> {
  const { runtime, context, scope, request } = call;
  const position = context.after === undefined ? undefined : parseEventId(context.after);
  if (position === undefined) return undefined;
  // A caller that names a task means that task.
  const { taskId = "" } = request.message ?? {};
  if ((context.taskName !== undefined || taskId !== "") && position.taskId !== taskId) return undefined;
  const head = await runtime.store.head(scope, position.taskId);
  if (head === undefined) return undefined;
  const isThere = isPositionIn(position, head);
  const after = isThere ? position.seq : head.seq;
  const end = await endBehind(call, head, after);
  if (!isThere) {
    return streamFromNow(runtime, head, { ...end, shown: answerOptions(call) });
  }
  const reader = new RecordReader(runtime, head, after);
  const idPrefix = eventIdPrefix(head.id, head.incarnation);
  return { ...end, items: [], reader, idPrefix, restart: () => restartStream(call, head.id, end.gate) };
}

// A follow-up message may still wait at the position where its stream resumes, and may never be taken.
async function endBehind(
  { runtime, scope, request: { message } }: SendCall,
  { id, key }: Head,
  after: number,
): Promise<StreamFromOptions> {
  const { taskId = "", messageId = "" } = message ?? {};
  const takenEnd = { gate: createSendGate({ messageId }, "stream", true), untilIdle: true };
  if (taskId === "" || messageId === "") return takenEnd;
  // The inbox first: an entry that leaves it meanwhile is found in the history.
  const { entries } = await runtime.store.inbox(key);
  const { task, state, seq } = await readStoredTask(runtime, { scope, id });
  const waitingEnd = { gate: createSendGate({ messageId }, "stream") };
  if (task.history.some((each) => each.messageId === messageId)) {
    return (await isMessageTaken(runtime, { key, after, messageId })) === false ? takenEnd : waitingEnd;
  }
  if (!isTerminal(state))
    return entries.some(({ send }) => send?.message.messageId === messageId) ? waitingEnd : takenEnd;
  if (after >= seq) throw messageNotTaken(id);
  return { gate: (record) => (record.seq < seq ? undefined : { error: messageNotTaken(id) }) };
}

/** The first send's stream from its start, or from the current state if the log is gone. */
async function streamAgain(call: SendCall, { record, head }: EarlierSend): Promise<StreamStart> {
  const { runtime } = call;
  const { id, incarnation } = head;
  const gate = createSendGate(record, "stream", record.seq === 0);
  const past = await foldLog(runtime, head, record.seq === 0 ? "first event" : record.seq);
  const restart = (): Promise<StreamStart> => restartStream(call, id, gate);
  if (past === undefined) return restart();
  const idPrefix = eventIdPrefix(id, incarnation);
  const copy = { ...past.task, history: copyHistory(past.task.history, answerOptions(call)) };
  const reader = new RecordReader(runtime, head, past.seq);
  return { items: [snapshotItem(copy, idPrefix, past.seq)], reader, idPrefix, gate, restart };
}
