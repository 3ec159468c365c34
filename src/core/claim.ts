import type { Scope } from "../protocol/context.js";
import { A2AError, invalidParams, taskNotFound } from "../protocol/errors.js";
import { reply } from "../protocol/events.js";
import { TaskState } from "../protocol/model.js";
import { isTerminal } from "../protocol/states.js";
import { LiveTask, messageDraft } from "./live-task.js";
import { statusUpdate } from "./normalize.js";
import type { InboxEntry, PutFence, StoredTask } from "./ports.js";
import { isPlaced } from "./read-task.js";
import type { Runtime } from "./runtime.js";
import { sizeOfMessage } from "./size.js";
import { publicFailure } from "./store-failure.js";
import type { TurnStart } from "./turn-run.js";

/** How a message reaches a task that exists: its own turn was started here, or it waits for the turn that runs. */
export type Delivery =
  | { readonly kind: "claimed"; readonly live: LiveTask; readonly start: () => void }
  /** `before`: the task as it was before the message was put; whoever follows from there misses nothing. */
  | { readonly kind: "queued"; readonly before: StoredTask };

const maxTries = 20;

/** Brings a message to its task: claims it when nobody runs it, else puts the message into its inbox. */
export async function deliver(runtime: Runtime, start: TurnStart): Promise<Delivery> {
  for (let tries = 0; tries < maxTries; tries++) {
    const stored = await readSettled(runtime, start.scope, start.send.message.taskId);
    checkOpen(stored, start);
    const delivery =
      stored.head.holder === "" ? await claim(runtime, start, stored) : await enqueue(runtime, start, stored);
    if (delivery !== undefined) return delivery;
  }
  throw contended();
}

/** What is known of a message that is brought to its task once, by whichever of several tries. */
export interface OncePlace {
  /** Number of the last record before any of the tries. */
  readonly after: number;
  /** The task as it was before the first try began; `undefined` in a later try. */
  readonly before: StoredTask | undefined;
}

/**
 * The same for a message that somebody else may be bringing as well: `placed` when it is there already. The message is
 * looked for behind a read of the task, and whatever is written then is fenced by what was read.
 */
export async function deliverOnce(
  runtime: Runtime,
  start: TurnStart,
  { after, before }: OncePlace,
): Promise<Delivery | "placed"> {
  const { scope, entry, send } = start;
  // Nobody can have brought it before its record was made.
  let stored = before !== undefined && !isOrphan(runtime, before) ? before : undefined;
  for (let tries = 0; tries < maxTries; tries++) {
    if (stored === undefined) {
      stored = await readSettled(runtime, scope, send.message.taskId);
      if (await isPlaced(runtime, { key: stored.head.key, after, entry })) return "placed";
    }
    checkOpen(stored, start);
    const { holder, epoch, inboxPut } = stored.head;
    const delivery =
      holder === "" ? await claim(runtime, start, stored) : await enqueue(runtime, start, stored, { epoch, inboxPut });
    if (delivery !== undefined) return delivery;
    stored = undefined;
  }
  throw contended();
}

function contended(): A2AError {
  return new A2AError("unavailable", "the task is contended, try again", { retryAfterMs: 1000 });
}

// A task as it is stored; one whose holder has expired is ended first.
async function readSettled(runtime: Runtime, scope: Scope, taskId: string): Promise<StoredTask> {
  let stored = await runtime.store.read(scope, taskId);
  if (stored !== undefined && isOrphan(runtime, stored)) {
    await takeOver(runtime, stored);
    stored = await runtime.store.read(scope, taskId);
  }
  if (stored === undefined) throw taskNotFound(taskId);
  return stored;
}

// Throws unless the task may still take the message.
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

async function claim(runtime: Runtime, start: TurnStart, stored: StoredTask): Promise<Delivery | undefined> {
  const { message } = start.send;
  const { id } = stored.head;
  // One claim of a task at a time in this process: while it is under way nobody can tell whether the task is held.
  if (runtime.claiming.has(id)) {
    await runtime.claiming.get(id);
    return undefined;
  }
  const live = new LiveTask(runtime, stored);
  checkHistory(runtime, live);
  runtime.turns.check(start.scope);
  const turn = live.turn + 1;
  const claimed = live.exclusive(
    [
      { kind: "turnStarted", turn, attempt: start.attempt, cause: start.cause },
      messageDraft(live, start.entry, message),
    ],
    sizeOfMessage(message),
    { claim: { turn } },
  );
  runtime.claiming.set(id, claimed.then(noop, noop));
  try {
    if ((await claimed) !== "stored") return await arrived(runtime, start, stored);
  } catch (error) {
    throw publicFailure(error);
  } finally {
    runtime.claiming.delete(id);
  }
  runtime.live.set(id, live);
  return { kind: "claimed", live, start: () => runtime.startTurn(start, { live }) };
}

// A claim is refused as well when it had arrived long ago, its answer was lost, and another process has ended the turn
// since. Then its message stands in the log, or in the history of a task whose log has gone.
async function arrived(runtime: Runtime, start: TurnStart, before: StoredTask): Promise<Delivery | undefined> {
  const { key, seq } = before.head;
  const page = await runtime.store.recordsAfter(key, seq, 2);
  if (page === "compacted") return { kind: "queued", before };
  const ours = page?.records.some((record) => record.kind === "message" && record.entry === start.entry);
  return ours === true ? { kind: "queued", before } : undefined;
}

async function enqueue(
  runtime: Runtime,
  start: TurnStart,
  stored: StoredTask,
  fence?: PutFence,
): Promise<Delivery | undefined> {
  const { key, id } = stored.head;
  const entry: InboxEntry = { id: start.entry, kind: "message", send: start.send };
  const live = runtime.live.get(id);
  live?.sentBy(entry.id, start.principal);
  const result = await runtime.store.put(key, entry, runtime.limits.inboxMaxMessages, fence);
  if (result !== "stored") live?.forgetSender(entry.id);
  if (result === "full") {
    const { inboxMaxMessages } = runtime.limits;
    throw new A2AError("resourceExhausted", `${inboxMaxMessages} messages wait for the task already`, {
      retryAfterMs: 1000,
    });
  }
  if (result !== "stored") return undefined;
  runtime.signals.publish({ kind: "inbox", taskId: id });
  return { kind: "queued", before: stored };
}

function checkHistory(runtime: Runtime, live: LiveTask): void {
  const { historyMaxMessages } = runtime.limits;
  // A message in the status goes to the history when the caller's is taken.
  const { history, status } = live.task;
  if (history.length + (status?.message === undefined ? 0 : 1) < historyMaxMessages) return;
  throw new A2AError("resourceExhausted", `the history of the task is at the limit of ${historyMaxMessages} messages`);
}

/** True when nobody works on a task that is held: its holder has expired, or is this process and has given it up. */
export function isOrphan(runtime: Runtime, { head }: Pick<StoredTask, "head">): boolean {
  if (head.holder === "" || isTerminal(head.state)) return false;
  if (head.holder !== runtime.instance) return !head.holderLive;
  return !runtime.claiming.has(head.id) && runtime.live.get(head.id)?.closed !== false;
}

/** Ends a task whose holder has expired. True when this call did it. */
export function takeOver(runtime: Runtime, stored: StoredTask): Promise<boolean> {
  return endNow(runtime, stored, TaskState.FAILED, "the process that worked on the task has gone");
}

/** Ends a task that nobody runs, in one write that claims and ends it. False when somebody was faster. */
export async function endNow(runtime: Runtime, stored: StoredTask, state: TaskState, text?: string): Promise<boolean> {
  const live = new LiveTask(runtime, stored);
  const identity = { taskId: live.id, contextId: live.contextId, newId: runtime.newId, artifactId: () => "" };
  const event = statusUpdate(state, identity, text === undefined ? undefined : reply(text));
  try {
    const result = await live.exclusive([{ kind: "event", event }, { kind: "turnEnded" }], 256, {
      claim: { turn: live.turn },
      end: { inboxPut: live.inboxPut },
    });
    return result === "stored";
  } catch (error) {
    throw publicFailure(error);
  }
}

const noop = (): void => {};
