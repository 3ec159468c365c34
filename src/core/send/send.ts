import { noop } from "../../protocol/async/noop.js";
import type { Scope, ServerContext } from "../../protocol/context.js";
import { A2AError, invalidParams } from "../../protocol/errors.js";
import { copyTask } from "../../protocol/fold.js";
import { checkIndexedId } from "../../protocol/indexed-text.js";
import type { Message, SendMessageRequest, SendMessageResponse, Task } from "../../protocol/model.js";
import { type Delivery, deliver } from "../ownership/claim.js";
import type { LogRecord } from "../ports.js";
import { readTaskAt } from "../read/past-task.js";
import { isTaken, type Placed, readStoredTask, readTask } from "../read/read-task.js";
import { RecordReader } from "../read/record-reader.js";
import type { Verdict } from "../read/task-stream.js";
import type { Runtime } from "../runtime.js";
import type { LiveTask } from "../task/live-task.js";
import { shuttingDown } from "../turn-counter.js";
import type { Opening, TurnStart } from "../turn-start.js";
import { createSendGate, endedFirst, type SendGate } from "./gate.js";
import type { IdempotencyClaim } from "./idempotency-claim.js";
import { SendWait, taskResponse } from "./wait.js";

/** Tells the push store of an inline configuration, once its task has a key. */
export interface Register {
  /** `again`: by a send that was brought before, so that it may be there. */
  (task: { readonly key: number; readonly id: string; readonly seq: number; readonly again?: true }): void;
  /** Resolves when the store has it; `undefined` before it was told. */
  readonly kept: () => Promise<void> | undefined;
}

/** What a send is answered with, once its push configuration is kept: what is answered outlives a crash. */
export async function onceKept<T>(register: Register | undefined, answer: Promise<T>): Promise<T> {
  const answered = await answer;
  await register?.kept();
  return answered;
}

/** What a send may ask for, as the request handler knows it. */
export interface SendPolicy {
  /** Throws `contentTypeNotSupported` for parts that the agent does not take. */
  checkParts(message: Message): void;
  /** Checks the inline push configuration of a send. One without an id gets that of the send, whichever try brings it. */
  inlinePush(call: SendCall, entry: string): Promise<Register>;
}

/** One send: its call, and whom it belongs to. */
export interface SendCall {
  readonly runtime: Runtime;
  readonly policy: SendPolicy;
  readonly request: SendMessageRequest;
  readonly context: ServerContext;
  readonly scope: Scope;
  /** What the caller calls the task. */
  readonly name?: string | undefined;
  /** Set for a send that shall be done once and is in the hands of this process. */
  readonly idempotency?: IdempotencyClaim | undefined;
  /** Told when no turn of this process is to come of the send any more, as far as that is known. */
  readonly arrived?: (() => void) | undefined;
}

/** Brings a message to its turn: the process waits for that, and for the turn, before it goes. */
export async function whileExpected<T>(call: SendCall, bring: (call: SendCall) => Promise<T>): Promise<T> {
  const arrived = call.runtime.turns.expect();
  try {
    return await bring({ ...call, arrived });
  } finally {
    arrived();
  }
}

/** SendMessage (spec 3.1.1): answers at the first stop behind the message, or as soon as there is a task when told so. */
export async function sendMessage(call: SendCall): Promise<SendMessageResponse> {
  const { runtime } = call;
  const start = openSend(call);
  const register = await registerOf(call, start.entry);
  if (start.send.message.taskId === "") return onceKept(register, sendNew(call, start, register));
  return onceKept(register, sendDelivered(call, start, await deliver(runtime, start), register));
}

/** Starts the turn of a message that names no task, and waits for its answer. */
export function sendNew(
  call: SendCall,
  start: TurnStart,
  register: Register | undefined,
): Promise<SendMessageResponse> {
  const { historyLength, returnImmediately } = call.request.configuration ?? {};
  const gate = createSendGate(start.entry, returnImmediately === true ? "created" : "stop");
  const wait = new SendWait(gate, historyLength);
  startNew(call, start, wait, register);
  return settled(call, wait, gate);
}

/** The answer to a message that has reached its task. */
export function sendDelivered(
  call: SendCall,
  start: TurnStart,
  delivery: Delivery,
  register: Register | undefined,
): Promise<SendMessageResponse> {
  const { request } = call;
  const historyLength = request.configuration?.historyLength;
  const immediately = request.configuration?.returnImmediately === true;
  const { taskId } = start.send.message;
  if (delivery.kind === "claimed") {
    const { live } = delivery;
    registerLive(register, live);
    const task = immediately ? copyTask(live.task, { historyLength }) : undefined;
    const gate = createSendGate(start.entry, "stop", true);
    const wait = new SendWait(gate, historyLength);
    if (task === undefined) wait.live(live);
    delivery.start();
    return task === undefined ? settled(call, wait, gate) : Promise.resolve(taskResponse(task));
  }
  const { key, seq } = delivery.before.head;
  register?.({ key, id: taskId, seq });
  return followTaken(call, taskId, { key, after: seq, entry: start.entry });
}

/** Follows a task behind a position until the message of a send is answered there, or taken when that is enough. */
export function followTaken(call: SendCall, taskId: string, placed: Placed): Promise<SendMessageResponse> {
  const immediately = call.request.configuration?.returnImmediately === true;
  const reader = new RecordReader(call.runtime, taskId, placed.key, placed.after);
  const answered = follow(call, reader, createSendGate(placed.entry, immediately ? "taken" : "stop"));
  if (!immediately) return answered;
  return withdrawLate(call, taskId, placed, answered).finally(() => reader.close());
}

async function settled(call: SendCall, wait: SendWait, gate: SendGate): Promise<SendMessageResponse> {
  const outcome = await wait.outcome;
  if ("live" in outcome) {
    // Another process has taken the task over, or nobody runs it now: what becomes of it stands in the log.
    const { id, key, stored } = outcome.live;
    return follow(call, new RecordReader(call.runtime, id, key, stored), gate);
  }
  return outcome;
}

// Reads the log until the send is answered, or its caller has gone. The message stays with the task in any case.
async function follow(call: SendCall, reader: RecordReader, gate: SendGate): Promise<SendMessageResponse> {
  const { context } = call;
  call.arrived?.();
  const leave = (): void => reader.close();
  if (context.signal.aborted) leave();
  context.signal.addEventListener("abort", leave, { once: true });
  try {
    for (;;) {
      const records = await reader.next();
      if (records === "closed") throw context.signal.aborted ? context.signal.reason : shuttingDown();
      if (typeof records === "string") return fromHistory(call, reader.taskId);
      const [seq, verdict] = verdictOn(records, gate);
      if (verdict === undefined) continue;
      if (verdict !== "answer") throw verdict.error;
      return taskResponse(await taskBehind(call, reader.taskId, seq));
    }
  } finally {
    reader.close();
    context.signal.removeEventListener("abort", leave);
  }
}

/** The first record that answers a send, by its number, and how. */
function verdictOn(records: readonly LogRecord[], gate: SendGate): readonly [number, Verdict] {
  for (const record of records) {
    const verdict = gate.see(record);
    if (verdict !== undefined) return [record.seq, verdict];
  }
  return [0, undefined];
}

// Who waits for a stop gets the task as it stood there, whatever others have said to it since; who does not, as it is.
async function taskBehind(
  { runtime, request, scope }: Pick<SendCall, "runtime" | "request" | "scope">,
  id: string,
  seq: number,
): Promise<Task> {
  const { historyLength, returnImmediately } = request.configuration ?? {};
  if (returnImmediately !== true) return readTaskAt(runtime, scope, { id, seq }, { historyLength });
  return (await readTask(runtime, scope, id, { historyLength, from: seq })).task;
}

// The log has gone, since the task ended a while ago: its history says whether the message was taken.
async function fromHistory({ runtime, request, scope }: SendCall, taskId: string): Promise<SendMessageResponse> {
  const { task } = await readStoredTask(runtime, scope, taskId);
  checkTaken(task, request);
  return taskResponse(copyTask(task, { historyLength: request.configuration?.historyLength }));
}

/** Throws when a task that has ended did not take the message of a send. */
export function checkTaken({ id, history }: Task, { message }: SendMessageRequest): void {
  if (!history.some(({ messageId }) => messageId === message?.messageId)) throw endedFirst(id);
}

// A send that shall not wait is answered when its message was taken; one that nobody takes in time is taken back.
async function withdrawLate<T>(
  { runtime, idempotency }: SendCall,
  taskId: string,
  placed: Placed,
  answered: Promise<T>,
): Promise<T> {
  const { clock, limits, store } = runtime;
  const { key, entry } = placed;
  let cancel = noop;
  const late = new Promise<"late">((resolve) => {
    cancel = clock.after(limits.inboxWaitMs, () => resolve("late"));
  });
  try {
    const first = await Promise.race([answered, late]);
    if (first !== "late") return first;
    // Taken, unless another try of the same send was faster.
    if (!(await store.withdraw(key, entry)) && (await isTaken(runtime, placed))) return await answered;
    answered.catch(noop);
    runtime.live.get(taskId)?.forgetSender(entry);
    await idempotency?.forget();
    throw new A2AError("unsupportedOperation", `the task took no message within ${limits.inboxWaitMs} ms`, {
      metadata: { taskId },
    });
  } finally {
    cancel();
  }
}

/** Set for a send that brings a push configuration along. */
export async function registerOf(call: SendCall, entry: string): Promise<Register | undefined> {
  const { taskPushNotificationConfig: config } = call.request.configuration ?? {};
  return config === undefined ? undefined : call.policy.inlinePush(call, entry);
}

/** All checks that need no store, and what the turn is started with. */
export function openSend({ runtime, policy, request, context, scope, name }: SendCall): TurnStart {
  const { message, configuration, metadata } = request;
  if (message === undefined) throw invalidParams({ field: "message", description: "is required" });
  checkIndexedId("message.contextId", message.contextId);
  if (name !== undefined) checkIndexedId("message.taskId", name);
  policy.checkParts(message);
  const { principal, extensions } = context;
  const send = { message, configuration, metadata, extensions };
  return { cause: "message", attempt: 1, principal, scope, entry: runtime.newId(), send };
}

/** Starts the turn of a message that names no task. Throws `resourceExhausted` over the limits of turns. */
export function startNew(call: SendCall, start: TurnStart, opening: Opening, register: Register | undefined): void {
  const { runtime, context, idempotency, name } = call;
  runtime.turns.check(start.scope);
  idempotency?.begun();
  const kept = idempotency === undefined ? opening : idempotency.keeping(opening);
  runtime.startTurn(start, {
    taskId: idempotency?.record.taskId ?? runtime.newId(),
    contextId: start.send.message.contextId || runtime.newId(),
    version: context.version,
    name,
    opening: register === undefined ? kept : registering(kept, register),
  });
}

/** Registers an inline push configuration with a task that was just claimed. */
export function registerLive(register: Register | undefined, { key, id, stored }: LiveTask): void {
  if (key !== undefined) register?.({ key, id, seq: stored });
}

// An inline push configuration is registered with the first write of its task, and hears of all that follows.
function registering(opening: Opening, register: Register): Opening {
  return {
    replyMaxBytes: opening.replyMaxBytes,
    reply: (message) => opening.reply(message),
    failed: (error) => opening.failed(error),
    live: (live) => {
      const observer = {
        record: (record: LogRecord): void => {
          if (record.kind !== "event") return;
          live.unobserve(observer);
          if (live.key !== undefined) register({ key: live.key, id: live.id, seq: record.seq });
        },
        left: noop,
      };
      live.observe(observer);
      opening.live(live);
    },
  };
}
