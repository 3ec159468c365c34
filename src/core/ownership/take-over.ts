import { restorePrincipal } from "../../protocol/context.js";
import { TaskState } from "../../protocol/model.js";
import { isInterrupted } from "../../protocol/states.js";
import type { InboxEntry, StoredTask } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { maskStoreFailure } from "../store-failure.js";
import { messageDraft } from "../task/record.js";
import { hasEmitted, isReleased, readLastCause, readOrigin } from "../turn/origin.js";
import type { TurnStart } from "../turn-start.js";
import {
  awaitsAuthorization,
  claimRestart,
  claimTurn,
  continueTask,
  endWithoutTurn,
  startWoken,
} from "./claim-turn.js";

// What becomes of a task whose holder is gone; the first row that fits decides:
//
// | the task                                                          | becomes                                         |
// |-------------------------------------------------------------------|-------------------------------------------------|
// | was created too late: its send had been refused                   | FAILED                                          |
// | waits, and its agent is not `restartable` or the turn has emitted | left without a process until its caller answers |
// | belongs to an agent that is not `restartable`                     | FAILED                                          |
// | has a cancel in its inbox                                         | CANCELED; so is one that would be left          |
// | was tried more than `maxRestarts` times                           | FAILED                                          |
// | any other                                                         | its turn runs again, under the next epoch       |
//
// A waiting turn that runs again gets the next message as the answer to its question, and if it waits for an
// authorization, the next wake. A turn that was released at a shutdown does not count as tried.

/** How often a turn is re-run. */
const maxRestarts = 3;
/** Tasks that a sweep takes over or wakes at a time: callers need connections to the database too. */
export const sweepConcurrency = 8;

/**
 * Takes over a task whose holder is gone: re-runs its turn if the agent is safe to re-run, else ends it. Returns true
 * if this call did so. Rejects when no turn may start here now.
 */
export async function takeOver(runtime: Runtime, storedTask: StoredTask): Promise<boolean> {
  if (isRefusedWrite(runtime, storedTask)) {
    return giveUp(runtime, storedTask, "the task was stored too late: its send had been refused already");
  }
  const isAsked = isInterrupted(storedTask.head.state);
  if (isAsked && (!runtime.restartable || (await hasEmitted(runtime, storedTask))))
    return leaveToCaller(runtime, storedTask);
  if (!runtime.restartable) return giveUp(runtime, storedTask, "the process that worked on the task has gone");
  // A turn is not re-run only to be canceled.
  const { entries } = await runtime.store.inbox(storedTask.head.key);
  if (entries.some(({ kind }) => kind === "cancel"))
    return endWithoutTurn(runtime, storedTask, { state: TaskState.CANCELED });
  const origin = await readOrigin(runtime, storedTask);
  const wasReleased = await isReleased(runtime, storedTask);
  if (!wasReleased && origin.attempt > maxRestarts) {
    return giveUp(
      runtime,
      storedTask,
      `the task was tried ${origin.attempt} times, and each time the process has gone`,
    );
  }
  return runtime.turns.within(storedTask.head.scope, async () => {
    const attempt = wasReleased ? origin.attempt : origin.attempt + 1;
    const startAgain = await claimRestart(runtime, storedTask, { ...origin, attempt });
    startAgain?.(isAsked ? findWaitEnd(entries) : undefined);
    return startAgain !== undefined;
  });
}

// Whether the task is the late first write of a send that this process refused. A later epoch is another claim.
function isRefusedWrite({ lostTasks, instance }: Runtime, { head }: StoredTask): boolean {
  return lostTasks.get(head.id)?.refused === true && head.holder === instance && head.epoch === 1;
}

// Finds the entry that ends the wait of a turn that asked. A message precedes a wake.
function findWaitEnd(entries: readonly InboxEntry[]): TurnStart["answeredBy"] {
  if (entries.some(({ send }) => send !== undefined)) return "message";
  return entries.length > 0 ? "wake" : undefined;
}

// A task that waits for its caller needs no process meanwhile. A message that has arrived since starts the next turn,
// or answers the one that is re-run; so does a wake.
async function leaveToCaller(runtime: Runtime, storedTask: StoredTask): Promise<boolean> {
  const { key, scope } = storedTask.head;
  const { entries, inboxPut } = await runtime.store.inbox(key);
  if (entries.some(({ kind }) => kind === "cancel"))
    return endWithoutTurn(runtime, storedTask, { state: TaskState.CANCELED });
  const answeredBy = findWaitEnd(entries);
  if (answeredBy === undefined) return release(runtime, storedTask, inboxPut);
  return runtime.turns.within(scope, () => continueTurn(runtime, storedTask, { entries, answeredBy }));
}

interface InboxAnswer {
  readonly entries: readonly InboxEntry[];
  readonly answeredBy: "message" | "wake";
}

/** Starts the turn that an answer begins, or re-runs the one that it answers. */
async function continueTurn(
  runtime: Runtime,
  storedTask: StoredTask,
  { entries, answeredBy }: InboxAnswer,
): Promise<boolean> {
  const { scope } = storedTask.head;
  if (runtime.restartable && (answeredBy === "message" || awaitsAuthorization(storedTask))) {
    const startAgain = await claimRestart(runtime, storedTask, await readOrigin(runtime, storedTask));
    startAgain?.(answeredBy);
    return startAgain !== undefined;
  }
  const [first] = entries;
  const entry = entries.find(({ send }) => send !== undefined);
  if (entry?.send === undefined)
    return startWoken(runtime, storedTask, { wake: first?.wake, replacedEntry: first?.id });
  const { send, id } = entry;
  const live = await continueTask(runtime, storedTask);
  live.setInboxPut(-1);
  const before = await readLastCause(runtime, storedTask);
  const turn = live.turn + 1;
  const principal = restorePrincipal(scope, send);
  const start = (): void =>
    runtime.startTurn({ cause: "message", attempt: 1, principal, scope, entry: id, send, before }, { live });
  const outcome = await claimTurn(runtime, live, {
    turn,
    drafts: [
      { kind: "turnEnded" },
      { kind: "turnStarted", turn, attempt: 1, cause: "message" },
      messageDraft(live, id, send),
    ],
    takes: [id],
    start,
  });
  if (outcome === "claimed") start();
  return outcome === "claimed";
}

async function release(runtime: Runtime, storedTask: StoredTask, inboxPut: number): Promise<boolean> {
  const live = await continueTask(runtime, storedTask);
  const extras = { claim: { turn: live.turn }, end: { inboxPut } };
  const kind = runtime.restartable ? "turnReleased" : "turnEnded";
  const result = live.exclusive([{ kind }], extras).catch((error: unknown) => {
    throw maskStoreFailure(error);
  });
  return (await result) === "stored";
}

function giveUp(runtime: Runtime, storedTask: StoredTask, text: string): Promise<boolean> {
  return endWithoutTurn(runtime, storedTask, { state: TaskState.FAILED, text });
}
