import { noop } from "../../protocol/async/noop.js";
import { A2AError } from "../../protocol/errors.js";
import { type CopyOptions, copyTask } from "../../protocol/fold.js";
import { type Message, type SendMessageResponse, type Task, typeNames } from "../../protocol/model.js";
import { isInterrupted } from "../../protocol/states.js";
import { TurnAborted } from "../agent.js";
import type { Delivery } from "../ownership/deliver.js";
import type { LogRecord } from "../ports.js";
import { isMessageTaken, readStoredTask, readTask, readTaskAt } from "../read/read-task.js";
import { RecordReader } from "../read/record-reader.js";
import type { GateResult } from "../read/subscribe.js";
import { maskStoreFailure } from "../store-failure.js";
import type { LiveTask, RecordObserver } from "../task/live-task.js";
import { shuttingDown } from "../turn-slots.js";
import type { OutcomeReceiver } from "../turn-start.js";
import { createSendGate, type SendGate } from "./gate.js";
import { IdempotencyClaim } from "./idempotency-claim.js";
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

// The answer of a unary send: a message, or a task at the first stop after the message.
//
// While the turn runs in this process, `SendWait` observes its task and answers the moment the record that the gate waits
// for is stored. When the turn ends without that, or runs elsewhere, the answer is read from the log (`follow`). A send
// that must not wait is answered when its message was taken, and withdrawn if that takes too long.

/** SendMessage (spec 3.1.1). */
export function sendMessage(open: () => SendCall): Promise<SendMessageResponse> {
  return runSend(open, answer);
}

const answer = (call: SendCall): Promise<SendMessageResponse> => send(call, unaryRenderer);

/**
 * Answers with a message or a task: at the first stop after the message, or as soon as the task exists if the caller
 * asked for that.
 */
const unaryRenderer: SendRenderer<SendMessageResponse> = {
  reply: messageResponse,
  answerNew: sendNew,
  answerDelivery: sendDelivered,
  answerRepeat: answerAgain,
};

function sendNew(message: SentMessage): Promise<SendMessageResponse> {
  const { call, start } = message;
  const { returnImmediately } = call.request.configuration ?? {};
  const gate = createSendGate(start, returnImmediately === true ? "created" : "stop");
  const wait = new SendWait(gate, answerOptions(call));
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
    const task = immediately && !isAsking ? copyTask(live.task, answerOptions(call)) : undefined;
    const gate = createSendGate(start, immediately ? "progressed" : "stop", true);
    const wait = new SendWait(gate, answerOptions(call));
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
  const mode = isAsking ? "progressed" : "taken";
  const answer = follow(call, reader, createSendGate(message, immediately ? mode : "stop"));
  if (!immediately) return answer;
  return withdrawWhenLate(call, message, answer).finally(() => reader.close());
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
  call.releaseShutdown();
  const leave = (): void => reader.close();
  if (context.signal.aborted) leave();
  context.signal.addEventListener("abort", leave, { once: true });
  try {
    for (;;) {
      const records = await reader.next();
      if (records === "closed") throw context.signal.aborted ? context.signal.reason : shuttingDown();
      if (typeof records === "string") return readFromHistory(call, reader.taskId);
      const [seq, result] = findGateResult(records, gate);
      if (result === undefined) continue;
      if (result !== "answer") throw result.error;
      return taskResponse(await readAnsweredTask(call, reader.taskId, seq));
    }
  } finally {
    reader.close();
    context.signal.removeEventListener("abort", leave);
  }
}

/** The number of the first record that answers a send, and the verdict. */
function findGateResult(records: readonly LogRecord[], gate: SendGate): readonly [number, GateResult] {
  for (const record of records) {
    const result = gate(record);
    if (result !== undefined) return [record.seq, result];
  }
  return [0, undefined];
}

// A caller that waits for a stop gets the task as of that stop, whatever followed. Any other gets its current state.
async function readAnsweredTask(call: SendCall, id: string, seq: number): Promise<Task> {
  const { runtime, request, scope } = call;
  const options = answerOptions(call);
  if (request.configuration?.returnImmediately !== true) return readTaskAt(runtime, { scope, id, seq }, options);
  return (await readTask(runtime, { scope, id }, { ...options, from: seq })).task;
}

// The log is gone because the task ended a while ago; its history shows whether the message was taken.
async function readFromHistory(call: SendCall, taskId: string): Promise<SendMessageResponse> {
  const { runtime, request, scope } = call;
  const { task } = await readStoredTask(runtime, { scope, id: taskId });
  assertMessageTaken(task, request);
  return taskResponse(copyTask(task, answerOptions(call)));
}

/** The task as the first send would get it: at the stop after its message, or at once if the caller asked for that. */
async function answerAgain(call: SendCall, { record, head }: EarlierSend): Promise<SendMessageResponse> {
  if (record.seq === 0 && call.request.configuration?.returnImmediately === true) {
    return taskResponse((await readTask(call.runtime, head, answerOptions(call))).task);
  }
  call.idempotency = new IdempotencyClaim(call.runtime, record);
  return followTaken(call, { id: head.id, key: head.key, after: record.seq, entry: record.entry });
}

// A send that must not wait is answered when its message was taken. If it is not taken in time, it is withdrawn.
async function withdrawWhenLate<T>(
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
    if (!(await store.withdraw(key, entry)) && (await isMessageTaken(runtime, message)) !== false) return await answer;
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

/**
 * The outcome of a send whose turn ran in this process; the live task if the turn ended without an answer or moved
 * elsewhere.
 */
type SendOutcome = SendMessageResponse | { readonly live: LiveTask };

/** Waits for the answer of one send and gets it the moment it is stored. */
class SendWait implements OutcomeReceiver, RecordObserver {
  readonly outcome: Promise<SendOutcome>;
  readonly #gate: SendGate;
  readonly #shown: CopyOptions;
  #live: LiveTask | undefined;
  #resolve: (outcome: SendOutcome) => void = noop;
  #reject: (error: unknown) => void = noop;

  constructor(gate: SendGate, shown: CopyOptions) {
    this.#gate = gate;
    this.#shown = shown;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  reply(message: Message): void {
    this.#resolve(messageResponse(message));
  }

  fail(error: A2AError): void {
    this.close();
    this.#reject(error);
  }

  task(live: LiveTask): void {
    this.#live = live;
    live.observe(this);
  }

  record(record: LogRecord, task: Task): void {
    const result = this.#gate(record);
    if (result === undefined) return;
    this.close();
    if (result === "answer") this.#resolve(taskResponse(copyTask(task, this.#shown)));
    else this.#reject(result.error);
  }

  onLeave(): void {
    const live = this.#live;
    // Parked, or running in another process: follow the log.
    if (live !== undefined && (live.failure === undefined || live.failure instanceof TurnAborted))
      this.#resolve({ live });
    else this.#reject(maskStoreFailure(live?.failure));
  }

  close(): void {
    this.#live?.unobserve(this);
  }
}

function taskResponse(task: Task): SendMessageResponse {
  return { $typeName: typeNames.SendMessageResponse, payload: { case: "task", value: task } };
}

function messageResponse(message: Message): SendMessageResponse {
  return { $typeName: typeNames.SendMessageResponse, payload: { case: "message", value: message } };
}
