import { noop } from "../../protocol/async/noop.js";
import type { Scope, ServerContext } from "../../protocol/context.js";
import { invalidParams } from "../../protocol/errors.js";
import { checkIndexedId } from "../../protocol/indexed-text.js";
import type { Message, SendMessageRequest, Task } from "../../protocol/model.js";
import type { Delivery } from "../ownership/claim.js";
import type { Head, LogRecord } from "../ports.js";
import type { Runtime } from "../runtime.js";
import type { LiveTask } from "../task/live-task.js";
import type { Opening, TurnStart } from "../turn-start.js";
import { endedFirst } from "./gate.js";
import type { IdempotencyClaim } from "./idempotency-claim.js";

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
  /** Set for a send that shall be done once and is in the hands of this process. */
  readonly idempotency?: IdempotencyClaim | undefined;
  /** Told when no turn of this process is to come of the send any more, as far as that is known. */
  readonly arrived?: (() => void) | undefined;
}

/** What a repeated send attaches to: its record, and the task that the first one has reached. */
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

/** Makes the answer of the outcome of a send: unary or stream. */
export interface SendRenderer<T> {
  /** The reply that an earlier try of the send has come to. */
  reply(message: Message): T;
  /** Starts the turn of a message that names no task. */
  created(sent: SentMessage): Promise<T>;
  /** The message has reached its task. */
  delivered(sent: SentMessage, delivery: Delivery): Promise<T>;
  /** An earlier try of the send has reached its task. */
  repeated(call: SendCall, task: ReachedTask): Promise<T>;
}

/** Set for a send that brings a push configuration along. */
export async function registerOf(call: SendCall, entry: string): Promise<Register | undefined> {
  const { taskPushNotificationConfig: config } = call.request.configuration ?? {};
  return config === undefined ? undefined : call.policy.inlinePush(call, entry);
}

/** All checks that need no store, and what the turn is started with. */
export function openSend({ runtime, policy, request, context, scope }: SendCall): TurnStart {
  const { message, configuration, metadata } = request;
  if (message === undefined) throw invalidParams({ field: "message", description: "is required" });
  checkIndexedId("message.contextId", message.contextId);
  const { principal, extensions, taskName } = context;
  if (taskName !== undefined) checkIndexedId("message.taskId", taskName);
  policy.checkParts(message);
  const send = { message, configuration, metadata, extensions };
  return { cause: "message", attempt: 1, principal, scope, entry: runtime.newId(), send };
}

/** Makes the answer of a message that names no task, once its turn may start. Rejects over the limits of turns. */
export async function withRoom<T>({ runtime, scope }: SendCall, start: () => Promise<T>): Promise<T> {
  const room = runtime.turns.room(scope);
  const leave = room === undefined ? noop : await room;
  try {
    return start();
  } finally {
    // The turn has begun, and counts itself.
    leave();
  }
}

/** Starts the turn of a message that names no task. */
export function startNew({ call, start, register }: SentMessage, opening: Opening): void {
  const { runtime, context, idempotency } = call;
  idempotency?.begun();
  const kept = idempotency === undefined ? opening : idempotency.keeping(opening);
  runtime.startTurn(start, {
    taskId: idempotency?.record.taskId ?? runtime.newId(),
    contextId: start.send.message.contextId || runtime.newId(),
    version: context.version,
    name: context.taskName,
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

/** Throws when a task that has ended did not take the message of a send. */
export function checkTaken({ id, history }: Task, { message }: SendMessageRequest): void {
  if (!history.some(({ messageId }) => messageId === message?.messageId)) throw endedFirst(id);
}
