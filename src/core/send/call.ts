import { noop } from "../../protocol/async/noop.js";
import { sizeOfMessage } from "../../protocol/check/size.js";
import type { CallChain, Scope, ServerContext } from "../../protocol/context.js";
import { invalidParams } from "../../protocol/errors.js";
import { idempotentSendExtension } from "../../protocol/extensions.js";
import type { CopyOptions } from "../../protocol/fold.js";
import { checkIndexedId } from "../../protocol/indexed-text.js";
import type { Message, SendMessageRequest, Task } from "../../protocol/model.js";
import type { Delivery } from "../ownership/claim.js";
import type { Head, LogRecord, QueuedSend } from "../ports.js";
import { runsHere } from "../read/read-task.js";
import type { Runtime } from "../runtime.js";
import type { LiveTask } from "../task/live-task.js";
import type { OutcomeReceiver, TurnStart } from "../turn-start.js";
import { messageNotTaken } from "./gate.js";
import type { IdempotencyClaim } from "./idempotency-claim.js";

/** Registers an inline push configuration once its task has a key. */
export interface Register {
  /** `again`: an earlier attempt delivered the send, so the configuration may already be registered. */
  (task: { readonly key: number; readonly id: string; readonly seq: number; readonly again?: true }): void;
  /** Resolves when it is stored; `undefined` before registration. */
  readonly completion: () => Promise<void> | undefined;
}

/** Delays the answer of a send until its push configuration is stored, so that what was answered survives a crash. */
export async function afterRegistration<T>(register: Register | undefined, answer: Promise<T>): Promise<T> {
  const response = await answer;
  await register?.completion();
  return response;
}

/** Checks of a send, provided by the request handler. */
export interface SendPolicy {
  /** Throws `contentTypeNotSupported` for parts that the agent does not accept. */
  checkParts(message: Message): void;
  /** Checks the inline push configuration of a send. Without an id it gets the send's id, the same in every attempt. */
  inlinePush(call: SendCall, entry: string): Promise<Register>;
}

/** One send: its call and its scope. */
export interface SendCall {
  readonly runtime: Runtime;
  readonly policy: SendPolicy;
  readonly request: SendMessageRequest;
  readonly context: ServerContext;
  readonly scope: Scope;
  /** Reverts the count of a new task, for limits of callers. */
  readonly uncount?: (() => void) | undefined;
  /** Whether the call waits until the task stops, as every call without `returnImmediately` does. */
  readonly waits?: boolean;
  /** Set for an idempotent send that this process is handling. */
  readonly idempotency?: IdempotencyClaim | undefined;
  /** Called when the send can no longer start a turn in this process: a shutdown need not wait for it. */
  readonly releaseShutdown?: (() => void) | undefined;
}

/** What a repeated send attaches to: its record, and the task that the first attempt reached. */
export interface ReachedTask {
  readonly record: IdempotencyClaim["record"];
  readonly head: Head;
}

/** A message that reached its task, or is about to start one. */
export interface SentMessage {
  readonly call: SendCall;
  readonly start: TurnStart;
  readonly register: Register | undefined;
}

/** Renders the outcome of a send: unary or as a stream. */
export interface SendRenderer<T> {
  /** The reply that an earlier attempt recorded. */
  reply(message: Message): T;
  /** Starts the turn of a message that names no task. */
  answerNew(message: SentMessage): Promise<T>;
  /** The message reached its task. */
  answerDelivery(message: SentMessage, delivery: Delivery): Promise<T>;
  /** An earlier attempt reached its task. */
  answerRepeat(call: SendCall, task: ReachedTask): Promise<T>;
}

/** True for a send that must take effect only once. */
export function isOnce({ context, request }: SendCall): boolean {
  const { extensions } = context;
  return extensions.length > 0 && extensions.includes(idempotentSendExtension) && request.message?.messageId !== "";
}

/**
 * Whether a send probably needs no store: it asks for no task and for no record, and the agent has only ever answered
 * with messages. Its agent may still make a task.
 */
function needsNoStore(call: SendCall): boolean {
  const { runtime, request, context } = call;
  if (!runtime.taskUse.isNone || request.message?.taskId !== "" || context.taskName !== undefined) return false;
  const { returnImmediately, taskPushNotificationConfig } = request.configuration ?? {};
  return returnImmediately !== true && taskPushNotificationConfig === undefined && !isOnce(call);
}

/** Returns the registration if the send has a push configuration. */
export async function registerOf(call: SendCall, entry: string): Promise<Register | undefined> {
  const { taskPushNotificationConfig: config } = call.request.configuration ?? {};
  return config === undefined ? undefined : call.policy.inlinePush(call, entry);
}

/**
 * Runs all checks that need no store, and returns what the turn starts with. Throws while the process is overloaded,
 * and while the store is known to be away, unless the send needs none.
 */
export function openSend(call: SendCall): TurnStart {
  const { runtime, policy, request, context, scope, waits } = call;
  const { message, configuration, metadata } = request;
  if (message === undefined) throw invalidParams({ field: "message", description: "is required" });
  checkIndexedId("message.contextId", message.contextId);
  const { principal, extensions, header, taskName, requestId, trace, quota, deadline, chain, progress } = context;
  // A context creates its signal on first use, which most calls never need.
  const endsTurn = waits === true && deadline !== undefined && (runtime.deadlines === "abort" || isOfTurn(chain));
  const late = endsTurn ? context.signal : undefined;
  if (taskName !== undefined) checkIndexedId("message.taskId", taskName);
  policy.checkParts(message);
  if (!needsNoStore(call)) runtime.health.check();
  // Messages to a running turn pass in an overload too: they may end it, and its inbox is bounded.
  if (!runsHere(runtime, { scope, id: message.taskId })) runtime.turns.checkLoad(scope);
  const claims = runtime.keptClaims?.(principal);
  const traceContext = trace?.context;
  const send: QueuedSend = { message, configuration, metadata, extensions, principal: claims, trace: traceContext };
  const entry = runtime.newId();
  const slots = quota?.turns;
  return {
    cause: "message",
    attempt: 1,
    principal,
    scope,
    entry,
    send,
    header,
    requestId,
    deadline,
    late,
    trace,
    chain,
    slots,
    progress,
  };
}

/** Whether a turn of this server made the call. The deadline is that turn's, so nobody could use a later answer. */
const isOfTurn = (chain: CallChain | undefined): boolean => chain !== undefined && chain.via.length > 0;

/** A message of more than so many bytes is left out of the answer to its own send. */
const repeatedMaxBytes = 64 * 1024;

/**
 * Which parts of the task the answer to a send has. The sender knows its message already, so a large one is left out,
 * unless the request has a `historyLength`.
 */
export function answerOptions({ message, configuration }: SendMessageRequest): CopyOptions {
  const historyLength = configuration?.historyLength;
  if (historyLength !== undefined || message === undefined) return { historyLength };
  const isLarge = sizeOfMessage(message) > repeatedMaxBytes;
  return isLarge ? { withoutMessage: message.messageId } : {};
}

/** Counts a send as a new task. Rejects over the limits of callers. */
export async function countTask(call: SendCall): Promise<SendCall> {
  const uncount = await call.context.quota?.newTask?.();
  return uncount === undefined ? call : { ...call, uncount };
}

/** Runs `start` once a turn for a new task of the owner may begin. Rejects over the limits of turns and of tasks. */
export async function withRoom<T>(call: SendCall, start: () => Promise<T>): Promise<T> {
  const { runtime, scope, request, context } = call;
  let leave = noop;
  try {
    // An agent that makes no tasks need not wait for their count.
    const admission = needsNoStore(call) ? undefined : runtime.quota.admit(scope);
    if (admission !== undefined) await admission;
    const size = request.message === undefined ? 0 : sizeOfMessage(request.message);
    // No `await` between free room and the start: another send could take the room.
    const room = runtime.turns.room({ scope, slots: context.quota?.turns }, size);
    if (room !== undefined) leave = await room;
  } catch (error) {
    call.uncount?.();
    throw error;
  }
  try {
    return start();
  } finally {
    // The turn has started and counts itself.
    leave();
  }
}

/** Starts the turn of a message that names no task. */
export function startNew({ call, start, register }: SentMessage, receiver: OutcomeReceiver): void {
  const { runtime, context, idempotency } = call;
  idempotency?.start();
  const { message } = start.send;
  const recorder = recordingReply(call, message, receiver);
  const keeper = idempotency === undefined ? recorder : idempotency.keepOutcome(recorder);
  runtime.startTurn(start, {
    taskId: idempotency?.record.taskId ?? runtime.newId(),
    contextId: message.contextId || runtime.newId(),
    version: context.version,
    name: context.taskName,
    receiver: register === undefined ? keeper : registeringPush(keeper, register),
  });
}

// A reply without a task is recorded after it is sent.
function recordingReply({ runtime, scope }: SendCall, message: Message, receiver: OutcomeReceiver): OutcomeReceiver {
  const replies = runtime.conversations?.replies;
  if (replies === undefined) return receiver;
  return {
    replyMaxBytes: receiver.replyMaxBytes,
    reply(reply) {
      receiver.reply(reply);
      replies.add(scope, message, reply);
    },
    task: (live) => receiver.task(live),
    fail: (error) => receiver.fail(error),
  };
}

/** Registers an inline push configuration with a task that was just claimed. */
export function registerLive(register: Register | undefined, { key, id, storedSeq }: LiveTask): void {
  if (key !== undefined) register?.({ key, id, seq: storedSeq });
}

// An inline push configuration is registered with the first write of its task and receives everything after it.
function registeringPush(receiver: OutcomeReceiver, register: Register): OutcomeReceiver {
  return {
    replyMaxBytes: receiver.replyMaxBytes,
    reply: (message) => receiver.reply(message),
    fail: (error) => receiver.fail(error),
    task: (live) => {
      const observer = {
        record: (record: LogRecord): void => {
          if (record.kind !== "event") return;
          live.unobserve(observer);
          if (live.key !== undefined) register({ key: live.key, id: live.id, seq: record.seq });
        },
        onLeave: noop,
      };
      live.observe(observer);
      receiver.task(live);
    },
  };
}

/** Throws when a task ended without taking the message of a send. */
export function checkTaken({ id, history }: Task, { message }: SendMessageRequest): void {
  if (!history.some(({ messageId }) => messageId === message?.messageId)) throw messageNotTaken(id);
}
