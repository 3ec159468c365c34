import { restorePrincipal } from "../../protocol/context.js";
import { TaskState } from "../../protocol/model.js";
import { isInterrupted } from "../../protocol/states.js";
import type { StoredTask } from "../ports.js";
import type { Runtime } from "../runtime.js";
import type { LiveTask } from "../task/live-task.js";
import { isReleased, readOrigin, type TurnOrigin } from "../turn/origin.js";
import type { TurnStart } from "../turn-start.js";
import { claimTurn } from "./claim-turn.js";
import { continueTask } from "./continue-task.js";

/** A turn that was claimed to be run again. */
export interface Restart {
  readonly live: LiveTask;
  /** `answeredBy`: the kind of the inbox entry that ends the wait of the turn. */
  start(answeredBy?: TurnStart["answeredBy"]): void;
}

/**
 * Claims a task in order to run its last turn again. `undefined`: another process was faster. A late claim starts the
 * turn without an answer to its question.
 */
export async function claimRestart(
  runtime: Runtime,
  storedTask: StoredTask,
  { attempt, wake, trace, messageSeq: message, entry, send }: TurnOrigin,
): Promise<Restart | undefined> {
  const { scope } = storedTask.head;
  const live = await continueTask(runtime, storedTask);
  // Entries may have been put while another process held the task, so their number is unknown.
  live.setInboxPut(-1);
  const { turn } = live;
  const principal = restorePrincipal(scope, send);
  const turnStart = { cause: "restart", attempt, principal, scope, entry, send, wake, trace } as const;
  const start: Restart["start"] = (answeredBy) => runtime.startTurn({ ...turnStart, answeredBy }, { live });
  const outcome = await claimTurn(runtime, live, {
    turn,
    drafts: [{ kind: "turnStarted", turn, attempt, cause: "restart", wake, message, trace }],
    start,
  });
  return outcome === "claimed" ? { live, start } : undefined;
}

/** Whether a wake ends the wait of the turn: it may wait for an authorization. */
export function awaitsAuthorization({ head }: StoredTask): boolean {
  return head.state === TaskState.AUTH_REQUIRED;
}

/**
 * The last turn of a task, if it waits for its caller without a process and is to be run again once the caller has
 * answered.
 */
export async function waitingTurn(runtime: Runtime, storedTask: StoredTask): Promise<TurnOrigin | undefined> {
  const { holder, state } = storedTask.head;
  if (!runtime.restartable || holder !== "" || !isInterrupted(state)) return undefined;
  return (await isReleased(runtime, storedTask)) ? readOrigin(runtime, storedTask) : undefined;
}
