import { noop } from "../../protocol/async/noop.js";
import { A2AError } from "../../protocol/errors.js";
import { copyTask } from "../../protocol/fold.js";
import type { SendMessageResponse, Task } from "../../protocol/model.js";
import { isInterrupted } from "../../protocol/states.js";
import type { Delivery } from "../ownership/claim.js";
import type { LogRecord } from "../ports.js";
import { readTaskAt } from "../read/past-task.js";
import { isTaken, readStoredTask, readTask } from "../read/read-task.js";
import { RecordReader } from "../read/record-reader.js";
import type { Verdict } from "../read/task-stream.js";
import { shuttingDown } from "../turn-slots.js";
import {
  answerOptions,
  checkTaken,
  type ReachedTask,
  registerLive,
  type SendCall,
  type SendRenderer,
  type SentMessage,
  startNew,
} from "./call.js";
import { createSendGate, type SendGate } from "./gate.js";
import { IdempotencyClaim } from "./idempotency-claim.js";
import { messageResponse, SendWait, taskResponse } from "./wait.js";

/**
 * Answers with a message or a task: at the first stop after the message, or as soon as the task exists if the caller
 * asked for that.
 */
export const unaryRenderer: SendRenderer<SendMessageResponse> = {
  reply: messageResponse,
  answerNew: sendNew,
  answerDelivery: sendDelivered,
  answerRepeat: answerAgain,
};

function sendNew(message: SentMessage): Promise<SendMessageResponse> {
  const { call, start } = message;
  const { returnImmediately } = call.request.configuration ?? {};
  const gate = createSendGate(start, returnImmediately === true ? "created" : "stop");
  const wait = new SendWait(gate, answerOptions(call.request));
  startNew(message, wait);
  return settle(call, wait, gate);
}

function sendDelivered({ call, start, register }: SentMessage, delivery: Delivery): Promise<SendMessageResponse> {
  const { request } = call;
  const immediately = request.configuration?.returnImmediately === true;
  const { taskId } = start.send.message;
  if (delivery.kind === "claimed") {
    const { live } = delivery;
    registerLive(register, live);
    const isAsking = isInterrupted(live.state);
    const task = immediately && !isAsking ? copyTask(live.task, answerOptions(request)) : undefined;
    const gate = createSendGate(start, immediately ? "moved" : "stop", true);
    const wait = new SendWait(gate, answerOptions(request));
    if (task === undefined) wait.task(live);
    delivery.start();
    return task === undefined ? settle(call, wait, gate) : Promise.resolve(taskResponse(task));
  }
  const { key, seq, state } = delivery.before.head;
  register?.({ key, id: taskId, seq });
  return followTaken(call, { id: taskId, key, after: seq, entry: start.entry }, isInterrupted(state));
}

/** A message that a send delivered, and where its log is followed from. */
interface FollowedMessage {
  /** Of the task. */
  readonly id: string;
  readonly key: number;
  readonly after: number;
  readonly entry: string;
}

/**
 * Follows a task from a position until the message is answered, or taken if that is enough. `isAsking`: the task asked
 * for input when the message was delivered.
 */
function followTaken(call: SendCall, message: FollowedMessage, isAsking = false): Promise<SendMessageResponse> {
  const immediately = call.request.configuration?.returnImmediately === true;
  const reader = new RecordReader(call.runtime, message, message.after);
  const mode = isAsking ? "moved" : "taken";
  const answer = follow(call, reader, createSendGate(message, immediately ? mode : "stop"));
  if (!immediately) return answer;
  return withdrawLate(call, message, answer).finally(() => reader.close());
}

async function settle(call: SendCall, wait: SendWait, gate: SendGate): Promise<SendMessageResponse> {
  const outcome = await wait.outcome;
  if ("live" in outcome) {
    // Another process took the task over, or no turn runs it now: the log shows the outcome.
    const { id, key, storedSeq } = outcome.live;
    return follow(call, new RecordReader(call.runtime, { id, key }, storedSeq), gate);
  }
  return outcome;
}

// Reads the log until the send is answered or its caller leaves. The message stays with the task in either case.
async function follow(call: SendCall, reader: RecordReader, gate: SendGate): Promise<SendMessageResponse> {
  const { context } = call;
  call.releaseShutdown?.();
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

/** The number of the first record that answers a send, and the verdict. */
function verdictOn(records: readonly LogRecord[], gate: SendGate): readonly [number, Verdict] {
  for (const record of records) {
    const verdict = gate.see(record);
    if (verdict !== undefined) return [record.seq, verdict];
  }
  return [0, undefined];
}

// A caller that waits for a stop gets the task as of that stop, whatever followed. Any other gets its current state.
async function taskBehind(
  { runtime, request, scope }: Pick<SendCall, "runtime" | "request" | "scope">,
  id: string,
  seq: number,
): Promise<Task> {
  const options = answerOptions(request);
  if (request.configuration?.returnImmediately !== true) return readTaskAt(runtime, { scope, id, seq }, options);
  return (await readTask(runtime, { scope, id }, { ...options, from: seq })).task;
}

// The log is gone because the task ended a while ago; its history shows whether the message was taken.
async function fromHistory({ runtime, request, scope }: SendCall, taskId: string): Promise<SendMessageResponse> {
  const { task } = await readStoredTask(runtime, { scope, id: taskId });
  checkTaken(task, request);
  return taskResponse(copyTask(task, answerOptions(request)));
}

/** The task as the first send would get it: at the stop after its message, or at once if the caller asked for that. */
async function answerAgain(call: SendCall, { record, head }: ReachedTask): Promise<SendMessageResponse> {
  if (record.seq === 0 && call.request.configuration?.returnImmediately === true) {
    return taskResponse((await readTask(call.runtime, head, answerOptions(call.request))).task);
  }
  const claimedCall = { ...call, idempotency: new IdempotencyClaim(call.runtime, record) };
  return followTaken(claimedCall, { id: head.id, key: head.key, after: record.seq, entry: record.entry });
}

// A send that must not wait is answered when its message was taken. If it is not taken in time, it is withdrawn.
async function withdrawLate<T>(
  { runtime, idempotency }: SendCall,
  message: FollowedMessage,
  answer: Promise<T>,
): Promise<T> {
  const { clock, limits, store } = runtime;
  const { id: taskId, key, entry } = message;
  let cancel = noop;
  const late = new Promise<"late">((resolve) => {
    cancel = clock.after(limits.inboxWaitMs, () => resolve("late"));
  });
  try {
    const first = await Promise.race([answer, late]);
    if (first !== "late") return first;
    // Taken, unless another attempt of the same send was faster.
    if (!(await store.withdraw(key, entry)) && (await isTaken(runtime, message)) !== false) return await answer;
    answer.catch(noop);
    runtime.live.get(taskId)?.forgetSender(entry);
    await idempotency?.forget();
    throw new A2AError(
      "unsupportedOperation",
      `the task took no message within ${limits.inboxWaitMs} ms (inboxWaitMs)`,
      {
        metadata: { taskId },
      },
    );
  } finally {
    cancel();
  }
}
