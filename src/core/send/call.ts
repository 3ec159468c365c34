import { noop } from "../../protocol/async/noop.js";
import { sizeOfMessage } from "../../protocol/check/size.js";
import type { Scope, ServerContext } from "../../protocol/context.js";
import { invalidParams } from "../../protocol/errors.js";
import { checkIndexedId } from "../../protocol/indexed-text.js";
import type { Message, SendMessageRequest, Task } from "../../protocol/model.js";
import type { Delivery } from "../ownership/claim.js";
import type { Head, LogRecord, QueuedSend } from "../ports.js";
import { runsHere } from "../read/read-task.js";
import type { Runtime } from "../runtime.js";
import type { LiveTask } from "../task/live-task.js";
import type { OutcomeReceiver, TurnStart } from "../turn-start.js";
import { endedFirst } from "./gate.js";
import type { IdempotencyClaim } from "./idempotency-claim.js";

/** Registers an inline push configuration once its task has a key. */
export interface Register {
  /** `again`: an earlier attempt delivered the send, so the configuration may already be registered. */
  (task: { readonly key: number; readonly id: string; readonly seq: number; readonly again?: true }): void;
  /** Resolves when it is stored; `undefined` before registration. */
  readonly kept: () => Promise<void> | undefined;
}

/** Delays the answer of a send until its push configuration is stored, so that what was answered survives a crash. */
export async function onceKept<T>(register: Register | undefined, answer: Promise<T>): Promise<T> {
  const answered = await answer;
  await register?.kept();
  return answered;
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
  /** Takes back that the send was counted as a new task, for limits by who is asking. */
  readonly uncount?: (() => void) | undefined;
  /** Whether the deadline of the call is that of the turn: it waits until the task stops, or comes from a turn itself. */
  readonly blocks?: boolean;
  /** Set for an idempotent send that this process is handling. */
  readonly idempotency?: IdempotencyClaim | undefined;
  /** Called when no turn of this process can follow from the send any more, as far as that is known. */
  readonly arrived?: (() => void) | undefined;
}

/** What a repeated send attaches to: its record, and the task that the first attempt reached. */
export interface ReachedTask {
  readonly sent: IdempotencyClaim["record"];
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
  created(sent: SentMessage): Promise<T>;
  /** The message reached its task. */
  delivered(sent: SentMessage, delivery: Delivery): Promise<T>;
  /** An earlier attempt reached its task. */
  repeated(call: SendCall, task: ReachedTask): Promise<T>;
}

/** Returns the registration if the send has a push configuration. */
export async function registerOf(call: SendCall, entry: string): Promise<Register | undefined> {
  const { taskPushNotificationConfig: config } = call.request.configuration ?? {};
  return config === undefined ? undefined : call.policy.inlinePush(call, entry);
}

/**
 * Runs all checks that need no store, and returns what the turn starts with. Throws while the store is known to be
 * away or the process is overloaded.
 */
export function openSend({ runtime, policy, request, context, scope, blocks }: SendCall): TurnStart {
  const { message, configuration, metadata } = request;
  if (message === undefined) throw invalidParams({ field: "message", description: "is required" });
  checkIndexedId("message.contextId", message.contextId);
  const { principal, extensions, header, taskName, requestId, trace, quota, deadline, chain } = context;
  // A context creates its signal on first use, which most calls never need.
  const late = blocks === true && deadline !== undefined ? context.signal : undefined;
  if (taskName !== undefined) checkIndexedId("message.taskId", taskName);
  policy.checkParts(message);
  runtime.health.check();
  // A message that a running turn waits for may be what ends it, and the inbox is bounded.
  if (!runsHere(runtime, { scope, id: message.taskId })) runtime.turns.checkLoad(scope);
  const kept = runtime.keptClaims?.(principal);
  const place = trace?.context;
  const send: QueuedSend = { message, configuration, metadata, extensions, principal: kept, trace: place };
  const entry = runtime.newId();
  const places = quota?.turns;
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
    places,
  };
}

/** Counts a send as a new task. Rejects over the limits by who is asking. */
export async function counted(call: SendCall): Promise<SendCall> {
  const uncount = await call.context.quota?.newTask?.();
  return uncount === undefined ? call : { ...call, uncount };
}

/** Runs `start` once a turn for a new task of the owner may begin. Rejects over the limits of turns and of tasks. */
export async function withRoom<T>(call: SendCall, start: () => Promise<T>): Promise<T> {
  const { runtime, scope, request, context } = call;
  let leave = noop;
  try {
    const asked = runtime.quota.admit(scope);
    if (asked !== undefined) await asked;
    const size = request.message === undefined ? 0 : sizeOfMessage(request.message);
    // Nothing is awaited between room that is free and the start.
    const room = runtime.turns.room({ scope, places: context.quota?.turns }, size);
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
export function startNew({ call, start, register }: SentMessage, opening: OutcomeReceiver): void {
  const { runtime, context, idempotency } = call;
  idempotency?.begun();
  const { message } = start.send;
  const remembered = remembering(call, message, opening);
  const kept = idempotency === undefined ? remembered : idempotency.keeping(remembered);
  runtime.startTurn(start, {
    taskId: idempotency?.record.taskId ?? runtime.newId(),
    contextId: message.contextId || runtime.newId(),
    version: context.version,
    name: context.taskName,
    opening: register === undefined ? kept : registering(kept, register),
  });
}

// A reply without a task is recorded after it is sent.
function remembering({ runtime, scope }: SendCall, message: Message, opening: OutcomeReceiver): OutcomeReceiver {
  const replies = runtime.conversations?.replies;
  if (replies === undefined) return opening;
  return {
    replyMaxBytes: opening.replyMaxBytes,
    reply(reply) {
      opening.reply(reply);
      replies.add(scope, message, reply);
    },
    live: (live) => opening.live(live),
    failed: (error) => opening.failed(error),
  };
}

/** Registers an inline push configuration with a task that was just claimed. */
export function registerLive(register: Register | undefined, { key, id, stored }: LiveTask): void {
  if (key !== undefined) register?.({ key, id, seq: stored });
}

// An inline push configuration is registered with the first write of its task and receives everything after it.
function registering(opening: OutcomeReceiver, register: Register): OutcomeReceiver {
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

/** Throws when a task ended without taking the message of a send. */
export function checkTaken({ id, history }: Task, { message }: SendMessageRequest): void {
  if (!history.some(({ messageId }) => messageId === message?.messageId)) throw endedFirst(id);
}
