import { noop } from "../../protocol/async/noop.js";
import { sizeOfTask } from "../../protocol/check/size.js";
import type { Scope } from "../../protocol/context.js";
import { A2AError, invalidParams, taskNotFound } from "../../protocol/errors.js";
import { Role, type Task } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import type { InboxEntry, PutFence, StoredTask } from "../ports.js";
import { isMessageDelivered } from "../read/read-task.js";
import type { Runtime } from "../runtime.js";
import { foldStored } from "../task/fold.js";
import { historyFull, LiveTask } from "../task/live-task.js";
import { type Draft, messageDraft, sizeOfRecord, withoutPush } from "../task/record.js";
import { readLastCause, type TurnOrigin } from "../turn/origin.js";
import { markStarted, type TurnStart } from "../turn-start.js";
import { claimRestart, claimTurn, contentionError, isOrphan, maxTries, waitingTurn } from "./claim-turn.js";
import { takeOver } from "./take-over.js";

// How a message reaches the task that it names. The send that delivered it then answers its caller (`core/send/`).
//
//   the task                                         the message
//   has no turn                                  ──▶ starts one, in the write that claims the task    "claimed"
//   has a turn that waits without a process      ──▶ is put into the inbox once that turn runs again  "queued"
//   has a turn                                   ──▶ is put into the inbox                            "queued"
//
// The task of a holder that has gone is taken over first. Each way ends with a write that the store refuses if the task
// has changed since it was read: then the task is read again.
//
// Invariant: a message is delivered once or refused. An idempotent one, which another process may be delivering too, is
// first looked for in the log and the inbox; the write that follows is fenced by that read.

/**
 * How a message reached an existing task: this process started a turn for it, or it waits in the inbox for the running
 * turn.
 */
export type Delivery =
  | { readonly kind: "claimed"; readonly live: LiveTask; readonly start: () => void }
  /** `before`: the task before the message was put. A reader that starts there misses nothing. */
  | { readonly kind: "queued"; readonly before: StoredTask };

/** A message to deliver, and the call that has its size. */
export interface MessageToDeliver {
  readonly start: TurnStart;
  readonly call: { readonly messageBytes: number };
}

/** Delivers a message to its task: claims the task if it has no running turn, else puts the message into its inbox. */
export async function deliver(runtime: Runtime, message: MessageToDeliver): Promise<Delivery> {
  const { scope, send } = message.start;
  for (let tries = 0; tries < maxTries; tries++) {
    const storedTask = await readSettled(runtime, scope, send.message.taskId);
    const delivery = await tryDeliver(runtime, message, storedTask);
    if (delivery !== undefined) return delivery;
  }
  throw contentionError();
}

/**
 * Delivers a message that another process may be delivering too. `placed` when it is already there. `after`: number of
 * the task's last record before the first attempt. `before`: the task at that time; `undefined` in later attempts.
 */
export async function deliverOnce(
  runtime: Runtime,
  message: MessageToDeliver,
  { after, before }: { readonly after: number; readonly before: StoredTask | undefined },
): Promise<Delivery | "placed"> {
  const { scope, entry, send } = message.start;
  const { messageId, taskId } = send.message;
  // No other process can have delivered the message before its record existed.
  let storedTask = before !== undefined && !(await isOrphan(runtime, before)) ? before : undefined;
  for (let tries = 0; tries < maxTries; tries++) {
    if (storedTask === undefined) {
      storedTask = await readSettled(runtime, scope, taskId);
      if (await isMessageDelivered(runtime, { head: storedTask.head, after, entry, messageId })) return "placed";
    }
    const { epoch, inboxPut } = storedTask.head;
    const delivery = await tryDeliver(runtime, message, storedTask, { epoch, inboxPut });
    if (delivery !== undefined) return delivery;
    storedTask = undefined;
  }
  throw contentionError();
}

// Resolves with `undefined` when the task must be read again.
function tryDeliver(
  runtime: Runtime,
  message: MessageToDeliver,
  storedTask: StoredTask,
  fence?: PutFence,
): Promise<Delivery | undefined> {
  const { start } = message;
  checkOpen(storedTask, start);
  checkSkills(storedTask, start);
  if (storedTask.head.holder === "") return claim(runtime, message, storedTask);
  const task = foldStored(storedTask);
  checkRoom(runtime, task, sizeOfTask(task) + message.call.messageBytes);
  return enqueue(runtime, start, storedTask, fence);
}

// Reads the task. If its holder has expired, the task is taken over first.
async function readSettled(runtime: Runtime, scope: Scope, taskId: string): Promise<StoredTask> {
  const read = (): Promise<StoredTask | undefined> =>
    runtime.reads(scope, () => runtime.store.read(scope, taskId), sizeOfStored);
  let storedTask = await read();
  if (storedTask !== undefined && (await isOrphan(runtime, storedTask))) {
    await takeOver(runtime, storedTask);
    storedTask = await read();
  }
  if (storedTask === undefined) throw taskNotFound(taskId);
  return storedTask;
}

function sizeOfStored(storedTask: StoredTask | undefined): number {
  const { snapshot, records = [] } = storedTask ?? {};
  return records.reduce(
    (sum, record) => sum + sizeOfRecord(record),
    snapshot === undefined ? 0 : sizeOfTask(snapshot.task),
  );
}

// Throws unless the task can still take the message.
function checkOpen({ head }: StoredTask, { send }: TurnStart): void {
  const { taskId, contextId } = send.message;
  if (isTerminal(head.state)) {
    throw new A2AError("unsupportedOperation", "the task has ended: start a new one in its context", {
      metadata: { taskId },
    });
  }
  if (contextId !== "" && contextId !== head.contextId) {
    throw invalidParams({ field: "message.contextId", description: "is not the context of the task" });
  }
}

/**
 * Checks that the sender of a message may use the skills of the task's earlier messages: its own message may name none.
 * Throws `unauthenticated` or `permissionDenied`.
 */
export function checkSkills({ snapshot, records }: StoredTask, { chain }: TurnStart): void {
  const authorize = chain?.authorizeAnswer;
  if (authorize === undefined) return;
  const stored = snapshot?.task.history.filter(({ role }) => role === Role.USER) ?? [];
  const recent = records.flatMap((record) => (record.kind === "message" ? record.message : []));
  authorize([...stored, ...recent]);
}

async function claim(
  runtime: Runtime,
  message: MessageToDeliver,
  storedTask: StoredTask,
): Promise<Delivery | undefined> {
  const { start } = message;
  const origin = await waitingTurn(runtime, storedTask);
  if (origin !== undefined) return answer(runtime, message, { storedTask, origin });
  const live = new LiveTask(runtime, storedTask);
  const before = await readLastCause(runtime, storedTask);
  const bytes = message.call.messageBytes;
  checkRoom(runtime, live.task, live.bytes + bytes);
  runtime.memory.check(start.scope);
  const leave = (await runtime.turns.waitForRoom(start, bytes)) ?? noop;
  const turn = live.turn + 1;
  const { cause, attempt, entry, send } = start;
  const drafts: Draft[] = [{ kind: "turnStarted", turn, attempt, cause }, messageDraft(live, entry, send)];
  const run = (): void => {
    runtime.startTurn({ ...start, before }, { live });
    leave();
  };
  markStarted(start);
  const outcome = await claimTurn(runtime, live, { turn, drafts, start: run }).catch((error: unknown) => {
    leave();
    throw error;
  });
  if (outcome === "claimed") return { kind: "claimed", live, start: run };
  leave();
  return outcome === "busy" ? undefined : findArrival(runtime, start, storedTask);
}

// The message answers a turn that waits without a process: the turn is run again.
async function answer(
  runtime: Runtime,
  { start, call }: MessageToDeliver,
  { storedTask, origin }: { readonly storedTask: StoredTask; readonly origin: TurnOrigin },
): Promise<Delivery | undefined> {
  const task = foldStored(storedTask);
  const bytes = call.messageBytes;
  checkRoom(runtime, task, sizeOfTask(task) + bytes);
  runtime.memory.check(start.scope);
  const leave = (await runtime.turns.waitForRoom(start, bytes)) ?? noop;
  const startAgain = await claimRestart(runtime, storedTask, origin).catch((error: unknown) => {
    leave();
    throw error;
  });
  let delivery: Delivery | undefined;
  try {
    delivery = startAgain === undefined ? undefined : await enqueue(runtime, start, storedTask);
    return delivery;
  } finally {
    startAgain?.(delivery && "message");
    leave();
  }
}

// A claim is also refused when it succeeded earlier, its answer was lost, and another process has ended the turn since.
// Then the message is in the log, or in the history of a task whose log was dropped.
async function findArrival(runtime: Runtime, start: TurnStart, before: StoredTask): Promise<Delivery | undefined> {
  const { key, seq } = before.head;
  const page = await runtime.store.recordsAfter(key, seq, 2);
  if (page === "compacted") return { kind: "queued", before };
  const isOurs = page?.records.some((record) => record.kind === "message" && record.entry === start.entry);
  return isOurs === true ? { kind: "queued", before } : undefined;
}

async function enqueue(
  runtime: Runtime,
  start: TurnStart,
  storedTask: StoredTask,
  fence?: PutFence,
): Promise<Delivery | undefined> {
  const { key, id } = storedTask.head;
  const entry: InboxEntry = { id: start.entry, kind: "message", send: withoutPush(start.send) };
  const live = runtime.live.get(id);
  live?.rememberSender(entry.id, start);
  markStarted(start);
  const result = await runtime.store.put(key, entry, runtime.limits.inboxMaxMessages, fence);
  if (result !== "stored") live?.forgetSender(entry.id);
  if (result === "full") {
    const { inboxMaxMessages } = runtime.limits;
    throw new A2AError(
      "resourceExhausted",
      `too many messages wait for the task: the limit is ${inboxMaxMessages} (inboxMaxMessages)`,
      { retryAfterMs: 1000, metadata: { limit: "inboxMaxMessages" } },
    );
  }
  if (result !== "stored") return undefined;
  runtime.signals.publish({ kind: "inbox", taskId: id });
  return { kind: "queued", before: storedTask };
}

/** Throws when a task has no room for a message. `bytes`: the size of the task with the message. */
function checkRoom({ limits }: Runtime, { history, status }: Task, bytes: number): void {
  const { historyMaxMessages, taskMaxBytes } = limits;
  if (bytes > taskMaxBytes) {
    throw new A2AError("resourceExhausted", `the task is full: the limit is ${taskMaxBytes} bytes (taskMaxBytes)`, {
      metadata: { limit: "taskMaxBytes" },
    });
  }
  // The status message moves to the history when the caller's message is taken.
  const statusMessages = status?.message === undefined ? 0 : 1;
  if (history.length + statusMessages >= historyMaxMessages) throw historyFull(historyMaxMessages);
}
