import { noop } from "../../protocol/async/noop.js";
import { A2AError } from "../../protocol/errors.js";
import { reply } from "../../protocol/events.js";
import type { TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import type { StoredTask } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { inStoreTime, publicFailure, Unanswered } from "../store-failure.js";
import type { Draft } from "../task/draft.js";
import type { LiveTask } from "../task/live-task.js";
import { statusUpdate } from "../task/normalize.js";
import { continueTask } from "./continue-task.js";

/** What a claim writes, and the turn it starts. */
export interface TurnClaim {
  /** Ordinal of the turn. */
  readonly turn: number;
  readonly drafts: readonly Draft[];
  /** Ids of the inbox entries that the turn takes. */
  readonly takes?: readonly string[] | undefined;
  /** Starts the turn. The caller does so, unless the claim was late. */
  readonly start: () => void;
}

/** `refused`: another process claimed the task first. `busy`: another claim of this process was under way and has ended. */
type ClaimOutcome = "claimed" | "refused" | "busy";

/**
 * Claims a task without a running turn, in the write that starts a turn. When the store is late this rejects with
 * `Unanswered`, and a claim that arrives nevertheless starts the turn: a stored message or wake must not be lost.
 */
export async function claimTurn(runtime: Runtime, live: LiveTask, claim: TurnClaim): Promise<ClaimOutcome> {
  const { claiming } = runtime;
  // This process runs one claim of a task at a time: until it settles it is unknown whether the task is held.
  const underWay = claiming.get(live.id);
  if (underWay !== undefined) {
    await underWay;
    return "busy";
  }
  const outcome = writeClaim(runtime, live, claim);
  claiming.set(live.id, outcome.then(noop, noop));
  const late = Promise.withResolvers<never>();
  const onLate = ({ cause }: Unanswered): void => {
    const releaseShutdown = runtime.turns.holdShutdown();
    // A closed handler may have lost the task already: it leaves it to others.
    const started = outcome.then((result) => {
      if (result === "claimed" && !runtime.turns.isClosed) claim.start();
    });
    late.reject(new Unanswered(cause, started.catch(noop).finally(releaseShutdown)));
  };
  live.mayBeLate({ onLate, retryMs: runtime.limits.storeWaitMs });
  return Promise.race([outcome, late.promise]);
}

async function writeClaim(
  { claiming, live: liveTasks }: Runtime,
  live: LiveTask,
  { turn, drafts, takes }: TurnClaim,
): Promise<ClaimOutcome> {
  try {
    if ((await live.exclusive(drafts, { claim: { turn }, takes })) !== "stored") return "refused";
  } catch (error) {
    throw publicFailure(error);
  } finally {
    claiming.delete(live.id);
  }
  liveTasks.set(live.id, live);
  return "claimed";
}

/** The error for a task that other calls changed in each of several tries. */
export function contentionError(): A2AError {
  return new A2AError("unavailable", "other calls change the task at the same time: try again", { retryAfterMs: 1000 });
}

/** True when no process works on a held task: its holder is gone, or is this process, which abandoned it. */
export async function isOrphan(runtime: Runtime, { head }: Pick<StoredTask, "head">): Promise<boolean> {
  if (head.holder === "" || isTerminal(head.state)) return false;
  if (head.holder !== runtime.instance) return !head.holderLive && (await isGone(runtime));
  return !runtime.claiming.has(head.id) && runtime.live.get(head.id)?.closed !== false;
}

/** Whether a process with an expired lease is gone. */
export async function isGone(runtime: Pick<Runtime, "lease" | "clock" | "limits">): Promise<boolean> {
  return inStoreTime(runtime, runtime.lease.trustsExpiry()).catch((error: unknown) => {
    throw publicFailure(error);
  });
}

/**
 * Ends a task without a running turn, in one write that claims and ends it. Returns false when another process was
 * faster.
 */
export async function endNow(
  runtime: Runtime,
  storedTask: StoredTask,
  { state, text }: { readonly state: TaskState; readonly text?: string },
): Promise<boolean> {
  const live = await continueTask(runtime, storedTask);
  const identity = { taskId: live.id, contextId: live.contextId, newId: runtime.newId, artifactId: () => "" };
  const event = statusUpdate(state, identity, text === undefined ? undefined : reply(text));
  try {
    const result = await live.exclusive([{ kind: "event", event }, { kind: "turnEnded" }], {
      claim: { turn: live.turn },
      end: { inboxPut: live.inboxPut },
    });
    return result === "stored";
  } catch (error) {
    throw publicFailure(error);
  }
}
