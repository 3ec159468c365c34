import type { Scope } from "../protocol/context.js";
import { A2AError, invalidParams, taskNotFound } from "../protocol/errors.js";
import { reply } from "../protocol/events.js";
import { TaskState } from "../protocol/model.js";
import { isTerminal } from "../protocol/states.js";
import { LiveTask, messageDraft } from "./live-task.js";
import { statusUpdate } from "./normalize.js";
import type { InboxEntry, StoredTask } from "./ports.js";
import type { Runtime } from "./runtime.js";
import { sizeOfMessage } from "./size.js";
import type { TurnStart } from "./turn-run.js";

/** How a message reaches a task that exists: its own turn was started here, or it waits for the turn that runs. */
export type Delivery =
  | { readonly kind: "claimed"; readonly live: LiveTask; readonly start: () => void }
  /** `before`: the task as it was before the message was put; whoever follows from there misses nothing. */
  | { readonly kind: "queued"; readonly before: StoredTask };

const maxTries = 20;

/** Brings a message to its task: claims it when nobody runs it, else puts the message into its inbox. */
export async function deliver(runtime: Runtime, start: TurnStart): Promise<Delivery> {
  const { taskId, contextId } = start.send.message;
  for (let tries = 0; tries < maxTries; tries++) {
    const stored = await readOpen(runtime, start.scope, taskId);
    if (contextId !== "" && contextId !== stored.head.contextId) {
      throw invalidParams({ field: "message.contextId", description: "is not the context of the task" });
    }
    const delivery =
      stored.head.holder === "" ? await claim(runtime, start, stored) : await enqueue(runtime, start, stored);
    if (delivery !== undefined) return delivery;
  }
  throw new A2AError("unavailable", "the task is contended, try again", { retryAfterMs: 1000 });
}

// A task that may still take a message; one whose holder has expired is ended first.
async function readOpen(runtime: Runtime, scope: Scope, taskId: string): Promise<StoredTask> {
  let stored = await runtime.store.read(scope, taskId);
  if (stored !== undefined && isOrphan(runtime, stored)) {
    await takeOver(runtime, stored);
    stored = await runtime.store.read(scope, taskId);
  }
  if (stored === undefined) throw taskNotFound(taskId);
  if (isTerminal(stored.head.state)) {
    throw new A2AError("unsupportedOperation", "the task has ended: start a new one in its context", {
      metadata: { taskId },
    });
  }
  return stored;
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

async function enqueue(runtime: Runtime, start: TurnStart, stored: StoredTask): Promise<Delivery | undefined> {
  const { key, id } = stored.head;
  const entry: InboxEntry = { id: start.entry, kind: "message", send: start.send };
  const principals = runtime.live.get(id)?.principals;
  principals?.set(entry.id, start.principal);
  const result = await runtime.store.put(key, entry, runtime.limits.inboxMaxMessages);
  if (result !== "stored") principals?.delete(entry.id);
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
  const result = await live.exclusive([{ kind: "event", event }, { kind: "turnEnded" }], 256, {
    claim: { turn: live.turn },
    end: { inboxPut: live.inboxPut },
  });
  return result === "stored";
}

const noop = (): void => {};
