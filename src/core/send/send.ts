import { createHash } from "node:crypto";
import type { JsonValue } from "@bufbuild/protobuf";
import { noop } from "../../protocol/async/noop.js";
import { sizeOfMessage } from "../../protocol/check/size.js";
import { writeJson } from "../../protocol/codec/json/writer.js";
import type { CallChain, Scope, ServerContext } from "../../protocol/context.js";
import { A2AError, invalidParams, taskNotFound } from "../../protocol/errors.js";
import { idempotentSendExtension } from "../../protocol/extensions.js";
import type { CopyOptions } from "../../protocol/fold.js";
import { checkIndexedId } from "../../protocol/indexed-text.js";
import { isObject } from "../../protocol/kinds.js";
import {
  type Message,
  type Part,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
} from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import { abandonSend } from "../ownership/abandoned-sends.js";
import { isHolderGone } from "../ownership/claim-turn.js";
import { checkSkills, type Delivery, deliver, deliverOnce } from "../ownership/deliver.js";
import type { Head, LogRecord, NewSend, QueuedSend, SendRecord, StoredTask } from "../ports.js";
import { isMessageDelivered, isRunningLocally } from "../read/read-task.js";
import type { Runtime } from "../runtime.js";
import { isStoreAnswer, maskStoreFailure, waitForStore } from "../store-failure.js";
import type { LiveTask } from "../task/live-task.js";
import { restoreError } from "../task/record.js";
import type { OutcomeReceiver, TurnStart } from "../turn-start.js";
import { messageNotTaken } from "./gate.js";
import { IdempotencyClaim, recordTask } from "./idempotency-claim.js";
import { TaskWaiter } from "./task-waiter.js";

// The way of a send, the same for a unary answer and for a stream. A renderer makes the answer (unary.ts, stream.ts).
//
//   sendMessage, sendStreamingMessage
//     └─ send              a shutdown waits for it
//          ├─ openSend     checks that need no store: parts, ids, load
//          ├─ a message that names no task: count it, wait for room, start a turn with a receiver of its outcome
//          └─ a message that names a task: deliver it, to a new turn or into the inbox of the running one
//
// Under the idempotent-send extension a record in the store comes first (`sendIdempotent`): the send that made the record
// runs as above, and every later one with its message id attaches to what that one started.
//
// Nothing has happened to a send that is refused before its turn starts or its message reaches a task: its count is
// reverted and its record deleted. From then on the turn, or the log of the task, holds the outcome.

/** Registers an inline push configuration once its task has a key. */
export interface RegisterPush {
  /** `again`: an earlier attempt delivered the send, so the configuration may already be registered. */
  (task: { readonly key: number; readonly id: string; readonly seq: number; readonly again?: true }): void;
  /** Resolves when it is stored; `undefined` before registration. */
  readonly completion: () => Promise<void> | undefined;
}

/** Checks of a send, provided by the request handler. */
export interface SendPolicy {
  /** Throws `contentTypeNotSupported` for parts that the agent does not accept. */
  checkParts(message: Message): void;
  /** Checks the inline push configuration of a send. Without an id it gets the send's id, the same in every attempt. */
  inlinePush(call: SendCall, entry: string): Promise<RegisterPush>;
}

/** What all sends of a handler share. */
export interface SendDeps {
  readonly runtime: Runtime;
  readonly policy: SendPolicy;
}

type SendTarget = Pick<SendCall, "request" | "context" | "scope" | "waits">;

/** One send: its call, its scope, and what becomes known of it on the way. */
export class SendCall {
  readonly runtime: Runtime;
  readonly policy: SendPolicy;
  readonly request: SendMessageRequest;
  readonly context: ServerContext;
  readonly scope: Scope;
  /** Whether the call waits until the task stops, as every call without `returnImmediately` does. */
  readonly waits: boolean;
  /** Set for an idempotent send that this process is handling. */
  idempotency: IdempotencyClaim | undefined;
  #messageBytes: number | undefined;
  #revertCount: (() => void) | undefined;
  #releaseShutdown: (() => void) | undefined;

  constructor({ runtime, policy }: SendDeps, { request, context, scope, waits }: SendTarget) {
    this.runtime = runtime;
    this.policy = policy;
    this.request = request;
    this.context = context;
    this.scope = scope;
    this.waits = waits;
  }

  /** The size of the request's message, measured once. Read it after the checks that refuse a send without it. */
  get messageBytes(): number {
    const { message } = this.request;
    this.#messageBytes ??= message === undefined ? 0 : sizeOfMessage(message);
    return this.#messageBytes;
  }

  /** Counts the send as a new task. Throws or rejects over the limits of callers. */
  countTask(): Promise<void> | undefined {
    const count = this.context.quota?.newTask?.();
    if (count instanceof Promise) return this.#awaitCount(count);
    this.#revertCount = count;
    return undefined;
  }

  async #awaitCount(count: Promise<() => void>): Promise<void> {
    this.#revertCount = await count;
  }

  /** Reverts the count of a send that starts no task. */
  revertCount(): void {
    this.#revertCount?.();
    this.#revertCount = undefined;
  }

  /** A shutdown waits for the send, and for the turn that follows, until `releaseShutdown`. */
  holdShutdown(): void {
    this.#releaseShutdown = this.runtime.turns.holdShutdown();
  }

  /** Call it when the send can no longer start a turn in this process: a shutdown need not wait for it. */
  releaseShutdown(): void {
    this.#releaseShutdown?.();
    // An open stream keeps its call.
    this.#releaseShutdown = undefined;
  }
}

/** An earlier send with the same message id: its record, and the task that it reached. */
export interface EarlierSend {
  readonly record: SendRecord;
  readonly head: Head;
}

/** A message that reached its task, or is about to start one. */
export interface SentMessage {
  readonly call: SendCall;
  readonly start: TurnStart;
  readonly register: RegisterPush | undefined;
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
  answerRepeat(call: SendCall, task: EarlierSend): Promise<T>;
}

/** Opens a send and does its work. A shutdown waits for it, and for the turn that follows. */
export async function runSend<T>(open: () => SendCall, work: (call: SendCall) => Promise<T>): Promise<T> {
  const call = open();
  call.holdShutdown();
  try {
    return await work(call);
  } finally {
    call.releaseShutdown();
  }
}

/** Sends a message: starts a turn, or delivers it to its task. */
export function send<T>(call: SendCall, renderer: SendRenderer<T>): Promise<T> {
  if (isIdempotent(call)) return sendIdempotent(call, renderer);
  const start = openSend(call);
  const registration = openRegistration(call, start.entry);
  if (registration === undefined) return sendRegistered({ call, start, register: undefined }, renderer);
  return registration.then((register) => sendRegistered({ call, start, register }, renderer));
}

/** The same once its push configuration, if it has one, is checked. */
function sendRegistered<T>(message: SentMessage, renderer: SendRenderer<T>): Promise<T> {
  const { call, start } = message;
  if (start.send.message.taskId !== "") return answerDelivered(message, renderer);
  const counting = call.countTask();
  return counting === undefined
    ? answerInRoom(message, renderer)
    : counting.then(() => answerInRoom(message, renderer));
}

async function answerDelivered<T>(message: SentMessage, renderer: SendRenderer<T>): Promise<T> {
  const delivery = await deliver(message.call.runtime, message);
  return afterRegistration(message.register, renderer.answerDelivery(message, delivery));
}

/** True for a send that must take effect only once. */
function isIdempotent({ context, request }: SendCall): boolean {
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
  return returnImmediately !== true && taskPushNotificationConfig === undefined && !isIdempotent(call);
}

/**
 * Runs all checks that need no store, and returns what the turn starts with. Throws while the process is overloaded,
 * and while the store is known to be away, unless the send needs none.
 */
function openSend(call: SendCall): TurnStart {
  const { runtime, policy, request, context, scope, waits } = call;
  const { message, configuration, metadata } = request;
  if (message === undefined) throw invalidParams({ field: "message", description: "is required" });
  checkIndexedId("message.contextId", message.contextId);
  const { principal, extensions, header, taskName, requestId, trace, quota, deadline, chain, progress } = context;
  // A context creates its signal on first use, which most calls never need.
  const endsTurn = waits && deadline !== undefined && (runtime.deadlines === "abort" || isFromTurn(chain));
  const late = endsTurn ? context.signal : undefined;
  if (taskName !== undefined) checkIndexedId("message.taskId", taskName);
  policy.checkParts(message);
  if (!needsNoStore(call)) runtime.health.check();
  // Messages to a running turn pass in an overload too: they may end it, and its inbox is bounded.
  if (!isRunningLocally(runtime, { scope, id: message.taskId })) runtime.turns.checkLoad(scope);
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
const isFromTurn = (chain: CallChain | undefined): boolean => chain !== undefined && chain.via.length > 0;

/** Returns the registration if the send has a push configuration. */
function openRegistration(call: SendCall, entry: string): Promise<RegisterPush> | undefined {
  const { taskPushNotificationConfig: config } = call.request.configuration ?? {};
  return config === undefined ? undefined : call.policy.inlinePush(call, entry);
}

/** Delays the answer of a send until its push configuration is stored, so that what was answered survives a crash. */
function afterRegistration<T>(register: RegisterPush | undefined, answer: Promise<T>): Promise<T> {
  if (register === undefined) return answer;
  return answer.then(async (response) => {
    await register.completion();
    return response;
  });
}

/**
 * Answers a message that names no task, once a turn for a new task of the owner may begin. Rejects over the limits of
 * turns and of tasks.
 */
async function answerInRoom<T>(message: SentMessage, renderer: SendRenderer<T>): Promise<T> {
  const { call, register } = message;
  const { runtime, scope, context } = call;
  let leave = noop;
  try {
    // An agent that makes no tasks need not wait for their count.
    const admission = needsNoStore(call) ? undefined : runtime.quota.admit(scope);
    if (admission !== undefined) await admission;
    // No `await` between free room and the start: another send could take the room.
    const room = runtime.turns.waitForRoom({ scope, slots: context.quota?.turns }, call.messageBytes);
    if (room !== undefined) leave = await room;
  } catch (error) {
    call.revertCount();
    throw error;
  }
  let answer: Promise<T>;
  try {
    answer = renderer.answerNew(message);
  } finally {
    // The turn has started and counts itself.
    leave();
  }
  return await afterRegistration(register, answer);
}

/** Starts the turn of a message that names no task. */
export function startNew({ call, start, register }: SentMessage, receiver: OutcomeReceiver): void {
  const { runtime, context, idempotency } = call;
  idempotency?.start();
  const { message } = start.send;
  const recorder = recordReply(call, message, receiver);
  const keeper = idempotency === undefined ? recorder : idempotency.keepOutcome(recorder);
  runtime.startTurn(start, {
    taskId: idempotency?.record.taskId ?? runtime.newId(),
    contextId: message.contextId || runtime.newId(),
    version: context.version,
    name: context.taskName,
    receiver: register === undefined ? keeper : registerPush(keeper, register),
  });
}

// A reply without a task is recorded after it is sent.
function recordReply(call: SendCall, message: Message, receiver: OutcomeReceiver): OutcomeReceiver {
  const { runtime, scope } = call;
  const replies = runtime.conversations?.replies;
  if (replies === undefined) return receiver;
  return {
    replyMaxBytes: receiver.replyMaxBytes,
    reply(reply, bytes) {
      receiver.reply(reply, bytes);
      replies.add(scope, { message, bytes: call.messageBytes }, { message: reply, bytes });
    },
    task: (live) => receiver.task(live),
    fail: (error) => receiver.fail(error),
  };
}

/** Registers an inline push configuration with a task that was just claimed. */
export function registerLive(register: RegisterPush | undefined, { key, id, storedSeq }: LiveTask): void {
  if (key !== undefined) register?.({ key, id, seq: storedSeq });
}

// An inline push configuration is registered with the first write of its task and receives everything after it.
function registerPush(receiver: OutcomeReceiver, register: RegisterPush): OutcomeReceiver {
  return {
    replyMaxBytes: receiver.replyMaxBytes,
    reply: (message, bytes) => receiver.reply(message, bytes),
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

/** A message of more than so many bytes is left out of the answer to its own send. */
const repeatedMaxBytes = 64 * 1024;

/**
 * Which parts of the task the answer to a send has. The sender knows its message already, so a large one is left out,
 * unless the request has a `historyLength`.
 */
export function answerOptions(call: SendCall): CopyOptions {
  const { message, configuration } = call.request;
  const historyLength = configuration?.historyLength;
  if (historyLength !== undefined || message === undefined) return { historyLength };
  return call.messageBytes > repeatedMaxBytes ? { withoutMessage: message.messageId } : {};
}

/** Throws when a task ended without taking the message of a send. */
export function assertMessageTaken({ id, history }: Task, { message }: SendMessageRequest): void {
  if (!history.some(({ messageId }) => messageId === message?.messageId)) throw messageNotTaken(id);
}

// Sends under the idempotent-send extension. The first one with a message id runs like any send and is recorded in the
// store; every later one attaches to its outcome.

/** A send under the extension. */
async function sendIdempotent<T>(call: SendCall, renderer: SendRenderer<T>): Promise<T> {
  const lookup = await findOrBegin(call);
  if (lookup.kind === "reply") return renderer.reply(lookup.message);
  if (lookup.kind === "task") return attach(call, lookup, renderer);
  const { idempotency, start } = lookup;
  call.idempotency = idempotency;
  try {
    const message = { call, start, register: await openRegistration(call, start.entry) };
    if (idempotency.record.seq === 0) return await answerInRoom(message, renderer);
    const { record } = idempotency;
    const delivery = await deliverOnce(call.runtime, message, { after: record.seq, before: lookup.before });
    idempotency.noteReached();
    if (delivery === "placed") {
      const head = await call.runtime.store.head(call.scope, record.taskId);
      if (head === undefined) throw taskNotFound(record.taskId);
      return await attach(call, { record, head }, renderer);
    }
    return await afterRegistration(message.register, renderer.answerDelivery(message, delivery));
  } catch (error) {
    await idempotency.fail(error);
    throw error;
  }
}

/** Found under the message id of a send: a reply, a task, or nothing, in which case the send runs. */
type FoundSend =
  | { readonly kind: "reply"; readonly message: Message }
  | (EarlierSend & { readonly kind: "task" })
  | OwnedSend;

interface OwnedSend {
  readonly kind: "own";
  readonly idempotency: IdempotencyClaim;
  readonly start: TurnStart;
  /** The task before the record was created. */
  readonly before: StoredTask | undefined;
}

async function findOrBegin(call: SendCall): Promise<FoundSend> {
  const { runtime, scope } = call;
  const start = openSend(call);
  const { messageId, taskId } = start.send.message;
  const digest = digestSend(readContent(call));
  for (;;) {
    const before = taskId === "" ? undefined : await runtime.store.read(scope, taskId);
    if (taskId !== "" && before === undefined) throw taskNotFound(taskId);
    if (before !== undefined) checkSkills(before, start);
    const { entry } = start;
    const record = await beginAndCount(call, {
      scope,
      messageId,
      digest,
      entry,
      taskId: taskId === "" ? runtime.newId() : taskId,
      seq: before?.head.seq ?? 0,
      instance: runtime.instance,
    });
    if (record.entry === entry)
      return { kind: "own", idempotency: new IdempotencyClaim(runtime, record).enter(), start, before };
    if (record.digest !== digest) {
      throw invalidParams({ field: "message.messageId", description: "was sent before with other content" });
    }
    const lookup = await waitForOutcome(call, start, record);
    if (lookup !== undefined) return lookup;
  }
}

// A repeat attaches to what the first send started, and is no new task. A first send over a limit leaves no record, so
// that it can be repeated.
async function beginAndCount(call: SendCall, send: NewSend): Promise<SendRecord> {
  const { runtime, context, scope, request } = call;
  const mayCount = request.message?.taskId === "" && context.quota?.newTask !== undefined;
  const isFirst = mayCount && (await runtime.store.readSend(scope, send.messageId)) === undefined;
  if (isFirst) await call.countTask();
  try {
    const record = await begin(runtime, send);
    if (record.entry !== send.entry) call.revertCount();
    return record;
  } catch (error) {
    call.revertCount();
    throw error;
  }
}

// As the caller wrote it: with the name, whether or not its task exists yet.
function readContent({ request, context: { taskName } }: SendCall): SendMessageRequest {
  const { message } = request;
  if (taskName === undefined || message === undefined) return request;
  return { ...request, message: { ...message, taskId: taskName } };
}

async function begin(runtime: Runtime, send: NewSend): Promise<SendRecord> {
  await holdLease(runtime);
  try {
    return await runtime.store.beginSend(send);
  } catch (error) {
    // The record may exist nevertheless.
    if (!isStoreAnswer(error)) abandonSend(runtime, { ...send, attempt: 1 });
    throw error;
  }
}

// A record that names a process without a valid lease would be taken over at once.
async function holdLease(runtime: Runtime): Promise<void> {
  const renewal = runtime.lease.renewIfLapsed();
  if (renewal === undefined) return;
  await waitForStore(runtime, renewal).catch((error: unknown) => {
    throw maskStoreFailure(error);
  });
}

// Waits while another send with this message id has no outcome yet, and takes its place when its process is gone.
// `undefined`: that send was refused, so this one is the first.
async function waitForOutcome(call: SendCall, start: TurnStart, first: SendRecord): Promise<FoundSend | undefined> {
  const { runtime, context } = call;
  const waiter = new TaskWaiter(runtime, first.taskId, context.signal);
  try {
    for (let record: SendRecord | undefined = first; record !== undefined; ) {
      const lookup = await findSent(call, record);
      if (lookup !== undefined) return lookup;
      if (await isUnderWay(runtime, record)) {
        call.releaseShutdown();
        await waiter.next();
      } else {
        const owned = await takeSendOver(runtime, start, record);
        if (owned !== undefined) return owned;
      }
      record = await runtime.store.readSend(record.scope, record.messageId);
    }
    return undefined;
  } finally {
    waiter.stop();
  }
}

async function isUnderWay(runtime: Runtime, { live, instance, entry }: SendRecord): Promise<boolean> {
  if (live || runtime.sending.has(entry)) return true;
  if (instance === "") return false;
  // Asking renews the lease of this process, so that a record of its own is live again.
  const mayBeGone = await isHolderGone(runtime);
  return instance === runtime.instance || !mayBeGone;
}

async function findSent({ runtime }: SendCall, record: SendRecord): Promise<FoundSend | undefined> {
  const { outcome, scope, taskId, seq: after, entry } = record;
  if (outcome?.kind === "reply") return { kind: "reply", message: outcome.message };
  const head = await runtime.store.head(scope, taskId);
  // An ended task takes no more messages: what it has not taken, it has refused.
  const isKnown = after === 0 || (head !== undefined && isTerminal(head.state));
  if (
    head !== undefined &&
    (isKnown || (await isMessageDelivered(runtime, { head, after, entry, messageId: record.messageId })))
  ) {
    if (outcome === undefined) recordTask(runtime, record);
    return { kind: "task", record, head };
  }
  if (head !== undefined && outcome?.kind === "task") {
    // A process withdrew the message without recording that.
    await runtime.store.forgetSend(record);
    return undefined;
  }
  if (outcome?.kind === "error") throw restoreError(outcome.error);
  if (outcome?.kind === "task") throw taskNotFound(taskId);
  return undefined;
}

// Takes over a send as its next attempt. `undefined` when another process was faster.
async function takeSendOver(runtime: Runtime, start: TurnStart, earlier: SendRecord): Promise<OwnedSend | undefined> {
  const record = { ...earlier, attempt: earlier.attempt + 1 };
  await holdLease(runtime);
  try {
    if (!(await runtime.store.takeSend(earlier, runtime.instance))) return undefined;
  } catch (error) {
    if (!isStoreAnswer(error)) abandonSend(runtime, record);
    throw error;
  }
  const idempotency = new IdempotencyClaim(runtime, record).enter();
  // The agent can have run before only if the turn was to create the task.
  const attempt = record.seq === 0 ? record.attempt : 1;
  // By name, the first attempt may have meant to create the task and another one has it now, or the reverse.
  const message = { ...start.send.message, taskId: record.seq === 0 ? "" : record.taskId };
  const send = { ...start.send, message };
  return { kind: "own", idempotency, start: { ...start, entry: record.entry, send, attempt }, before: undefined };
}

// The first attempt may have ended between the task and its push configuration.
async function attach<T>(call: SendCall, task: EarlierSend, renderer: SendRenderer<T>): Promise<T> {
  const { record, head } = task;
  const register = await openRegistration(call, record.entry);
  register?.({ key: head.key, id: head.id, seq: record.seq, again: true });
  await register?.completion();
  return renderer.answerRepeat(call, task);
}

/**
 * A digest of a send's content: SHA-256 over the JSON form of message, configuration and metadata with sorted keys, so
 * that it does not depend on the binding or on member order. The tenant is left out because it belongs to the scope.
 */
function digestSend(request: SendMessageRequest): string {
  const content: SendMessageRequest = { ...request, tenant: "" };
  const json = writeJson(SendMessageRequestSchema, content);
  // Older versions always send a configuration, even an empty one.
  if (Object.keys(json["configuration"] ?? {}).length === 0) delete json["configuration"];
  return createHash("sha256").update(writeSorted(json)).digest("hex");
}

/** The JSON text of a value with objects as lists: an object would put numeric keys first and lose `__proto__`. */
function writeSorted(value: JsonValue): string {
  if (!isObject(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `["list"${value.map((each) => `,${writeSorted(each)}`).join("")}]`;
  let text = '["object"';
  for (const key of Object.keys(value).sort(byUnits))
    text += `,${JSON.stringify(key)},${writeSorted(value[key] ?? null)}`;
  return `${text}]`;
}

const byUnits = (left: string, right: string): number => (left < right ? -1 : 1);

/**
 * Refuses parts whose media type is not among the agent's input modes, if its card lists them (spec 3.1.1). A part
 * without a media type passes: text counts as plain text, a value as JSON, and only the agent can judge a file.
 */
export function createPartCheck(inputModes: readonly string[] | undefined): (message: Message) => void {
  if (inputModes === undefined) return noop;
  const accepted = inputModes.map((mode) => stripParameters(mode));
  return ({ parts }) => {
    parts.forEach((part, index) => {
      const mediaType = readMediaType(part);
      if (mediaType === undefined || accepted.some((mode) => matches(mode, mediaType))) return;
      throw new A2AError(
        "contentTypeNotSupported",
        `unsupported media type ${mediaType} (accepted: ${inputModes.join(", ")})`,
        {
          metadata: { field: `message.parts[${index}]`, mediaType, accepted: inputModes.join(",") },
        },
      );
    });
  };
}

const impliedTypes: Readonly<Record<string, string>> = { text: "text/plain", data: "application/json" };

function readMediaType({ mediaType, content }: Part): string | undefined {
  return mediaType === "" ? impliedTypes[content.case ?? ""] : stripParameters(mediaType);
}

function stripParameters(mediaType: string): string {
  return (mediaType.split(";", 1)[0] ?? "").trim().toLowerCase();
}

function matches(mode: string, mediaType: string): boolean {
  return mode === "*/*" || mode === mediaType || (mode.endsWith("/*") && mediaType.startsWith(mode.slice(0, -1)));
}
