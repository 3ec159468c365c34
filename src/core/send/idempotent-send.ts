import { invalidParams, taskNotFound } from "../../protocol/errors.js";
import type { Message, SendMessageRequest } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import { abandonSend } from "../ownership/abandoned-sends.js";
import { checkSkills, deliverOnce } from "../ownership/claim.js";
import { isGone } from "../ownership/claim-turn.js";
import { TaskWaiter } from "../ownership/task-waiter.js";
import type { NewSend, SendRecord, StoredTask } from "../ports.js";
import { isPlaced } from "../read/read-task.js";
import type { Runtime } from "../runtime.js";
import { inStoreTime, isAnswer, publicFailure } from "../store-failure.js";
import { errorOfRecord } from "../task/recorded-error.js";
import type { TurnStart } from "../turn-start.js";
import {
  afterRegistration,
  countTask,
  openSend,
  type ReachedTask,
  registerOf,
  type SendCall,
  type SendRenderer,
  withRoom,
} from "./call.js";
import { digestOfSend } from "./digest.js";
import { IdempotencyClaim, noteTask } from "./idempotency-claim.js";

// Sends under the idempotent-send extension. The first one with a message id runs like any send and is recorded in the
// store; every later one attaches to its outcome.

/** A send under the extension. */
export async function sendOnce<T>(call: SendCall, renderer: SendRenderer<T>): Promise<T> {
  const lookup = await find(call);
  if (lookup.kind === "reply") return renderer.reply(lookup.message);
  if (lookup.kind === "task") return repeat(call, lookup, renderer);
  const { idempotency, start, uncount } = lookup;
  try {
    const register = await registerOf(call, start.entry);
    const message = { call: { ...call, idempotency, uncount }, start, register };
    if (idempotency.record.seq === 0)
      return await afterRegistration(
        register,
        withRoom(message.call, () => renderer.answerNew(message)),
      );
    const delivery = await bring(call, lookup);
    if (delivery === "placed") return await repeat(call, await readReached(call, idempotency.record), renderer);
    return await afterRegistration(register, renderer.answerDelivery(message, delivery));
  } catch (error) {
    await idempotency.fail(error);
    throw error;
  }
}

/** What a send finds under its message id: a reply, a task, or nothing, in which case it runs. */
type FoundSend =
  | { readonly kind: "reply"; readonly message: Message }
  | (ReachedTask & { readonly kind: "task" })
  | OwnedSend;

interface OwnedSend {
  readonly kind: "own";
  readonly idempotency: IdempotencyClaim;
  readonly start: TurnStart;
  /** The task before the record was created. */
  readonly before: StoredTask | undefined;
  readonly uncount?: (() => void) | undefined;
}

async function find(call: SendCall): Promise<FoundSend> {
  const { runtime, scope } = call;
  const start = openSend(call);
  const { messageId, taskId } = start.send.message;
  const digest = digestOfSend(contentOf(call));
  for (;;) {
    const before = taskId === "" ? undefined : await runtime.store.read(scope, taskId);
    if (taskId !== "" && before === undefined) throw taskNotFound(taskId);
    if (before !== undefined) checkSkills(before, start);
    const { entry } = start;
    const { record, uncount } = await beginCounted(call, {
      scope,
      messageId,
      digest,
      entry,
      taskId: taskId === "" ? runtime.newId() : taskId,
      seq: before?.head.seq ?? 0,
      instance: runtime.instance,
    });
    if (record.entry === entry)
      return { kind: "own", idempotency: new IdempotencyClaim(runtime, record).enter(), start, before, uncount };
    if (record.digest !== digest) {
      throw invalidParams({ field: "message.messageId", description: "was sent before with another content" });
    }
    const lookup = await waitForOutcome(call, start, record);
    if (lookup !== undefined) return lookup;
  }
}

// A repeat attaches to what the first send started, and is no new task. A first send over a limit leaves no record, so
// that it can be repeated.
async function beginCounted(
  call: SendCall,
  send: NewSend,
): Promise<Pick<OwnedSend, "uncount"> & { readonly record: SendRecord }> {
  const { runtime, context, scope, request } = call;
  const mayCount = request.message?.taskId === "" && context.quota?.newTask !== undefined;
  const isFirst = mayCount && (await runtime.store.readSend(scope, send.messageId)) === undefined;
  const { uncount } = isFirst ? await countTask(call) : call;
  try {
    const record = await begin(runtime, send);
    if (record.entry === send.entry) return { record, uncount };
    uncount?.();
    return { record };
  } catch (error) {
    uncount?.();
    throw error;
  }
}

// As the caller wrote it: with the name, whether or not its task exists yet.
function contentOf({ request, context: { taskName } }: SendCall): SendMessageRequest {
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
    if (!isAnswer(error)) abandonSend(runtime, { ...send, attempt: 1 });
    throw error;
  }
}

// A record that names a process without a valid lease would be taken over at once.
async function holdLease(runtime: Runtime): Promise<void> {
  const renewal = runtime.lease.hold();
  if (renewal === undefined) return;
  await inStoreTime(runtime, renewal).catch((error: unknown) => {
    throw publicFailure(error);
  });
}

// Waits while another send with this message id has no outcome yet, and takes its place when its process is gone.
// `undefined`: that send was refused, so this one is the first.
async function waitForOutcome(call: SendCall, start: TurnStart, first: SendRecord): Promise<FoundSend | undefined> {
  const { runtime, context } = call;
  const waiter = new TaskWaiter(runtime, first.taskId, context.signal);
  try {
    for (let record: SendRecord | undefined = first; record !== undefined; ) {
      const lookup = await outcomeOf(call, record);
      if (lookup !== undefined) return lookup;
      if (await isUnderWay(runtime, record)) {
        call.releaseShutdown?.();
        await waiter.next();
      } else if (await take(runtime, record)) return ownSend(runtime, start, record);
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
  const mayBeGone = await isGone(runtime);
  return instance === runtime.instance || !mayBeGone;
}

async function outcomeOf({ runtime }: SendCall, record: SendRecord): Promise<FoundSend | undefined> {
  const { outcome, scope, taskId, seq: after, entry } = record;
  if (outcome?.kind === "reply") return { kind: "reply", message: outcome.message };
  const head = await runtime.store.head(scope, taskId);
  // An ended task takes no more messages: what it has not taken, it has refused.
  const isKnown = after === 0 || (head !== undefined && isTerminal(head.state));
  if (
    head !== undefined &&
    (isKnown || (await isPlaced(runtime, { head, after, entry, messageId: record.messageId })))
  ) {
    if (outcome === undefined) noteTask(runtime, record);
    return { kind: "task", record, head };
  }
  if (head !== undefined && outcome?.kind === "task") {
    // A process withdrew the message without recording that.
    await runtime.store.forgetSend(record);
    return undefined;
  }
  if (outcome?.kind === "error") throw errorOfRecord(outcome.error);
  if (outcome?.kind === "task") throw taskNotFound(taskId);
  return undefined;
}

async function take(runtime: Runtime, record: SendRecord): Promise<boolean> {
  await holdLease(runtime);
  try {
    return await runtime.store.takeSend(record, runtime.instance);
  } catch (error) {
    if (!isAnswer(error)) abandonSend(runtime, { ...record, attempt: record.attempt + 1 });
    throw error;
  }
}

function ownSend(runtime: Runtime, start: TurnStart, { entry, attempt, ...record }: SendRecord): OwnedSend {
  const idempotency = new IdempotencyClaim(runtime, { ...record, entry, attempt: attempt + 1 }).enter();
  // The agent can have run before only if the turn was to create the task.
  const agentAttempt = record.seq === 0 ? attempt + 1 : 1;
  // By name, the first attempt may have meant to create the task and another one has it now, or the reverse.
  const message = { ...start.send.message, taskId: record.seq === 0 ? "" : record.taskId };
  const send = { ...start.send, message };
  return { kind: "own", idempotency, start: { ...start, entry, send, attempt: agentAttempt }, before: undefined };
}

async function bring({ runtime }: SendCall, { idempotency, start, before }: OwnedSend) {
  const delivery = await deliverOnce(runtime, start, { after: idempotency.record.seq, before });
  idempotency.noteReached();
  return delivery;
}

async function readReached({ runtime, scope }: SendCall, record: IdempotencyClaim["record"]): Promise<ReachedTask> {
  const head = await runtime.store.head(scope, record.taskId);
  if (head === undefined) throw taskNotFound(record.taskId);
  return { record, head };
}

// The first attempt may have ended between the task and its push configuration.
async function repeat<T>(call: SendCall, task: ReachedTask, renderer: SendRenderer<T>): Promise<T> {
  const { record, head } = task;
  const register = await registerOf(call, record.entry);
  register?.({ key: head.key, id: head.id, seq: record.seq, again: true });
  await register?.completion();
  return renderer.answerRepeat(call, task);
}
