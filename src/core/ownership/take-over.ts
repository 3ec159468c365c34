import { storedPrincipal } from "../../protocol/context.js";
import { TaskState } from "../../protocol/model.js";
import { isInterrupted } from "../../protocol/states.js";
import type { StoredTask } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { publicFailure } from "../store-failure.js";
import { LiveTask } from "../task/live-task.js";
import { messageDraft } from "../task/message-record.js";
import { isReleased, readOrigin } from "../turn/origin.js";
import { claimTurn, endNow } from "./claim-turn.js";

/** How often a turn is re-run. */
const maxRestarts = 3;

/**
 * Takes over a task whose holder is gone: re-runs its turn if the agent is safe to re-run, else ends it. Returns true
 * if this call did so. Rejects when no turn may start here now.
 */
export async function takeOver(runtime: Runtime, stored: StoredTask): Promise<boolean> {
  if (runtime.lost.get(stored.head.id)?.refused === true) {
    return giveUp(runtime, stored, "the task was stored too late: its send had been refused already");
  }
  if (!runtime.restartable) {
    if (isInterrupted(stored.head.state)) return leave(runtime, stored);
    return giveUp(runtime, stored, "the process that worked on the task has gone");
  }
  // A turn is not re-run only to be canceled.
  const { entries } = await runtime.store.inbox(stored.head.key);
  if (entries.some(({ kind }) => kind === "cancel")) return endNow(runtime, stored, TaskState.CANCELED);
  const origin = await readOrigin(runtime, stored);
  const released = await isReleased(runtime, stored);
  if (!released && origin.attempt > maxRestarts) {
    return giveUp(runtime, stored, `the task was tried ${origin.attempt} times, and each time the process has gone`);
  }
  const { scope } = stored.head;
  runtime.turns.check(scope);
  const live = new LiveTask(runtime, stored);
  // Entries were put while the previous process held the task, so their number is unknown.
  live.sawInbox(-1);
  const { turn } = live;
  const { wake, messageSeq: message, entry, send } = origin;
  const attempt = origin.attempt + (released ? 0 : 1);
  const claimed = await claimTurn(runtime, live, {
    turn,
    drafts: [{ kind: "turnStarted", turn, attempt, cause: "restart", wake, message }],
  });
  if (claimed !== "claimed") return false;
  const principal = storedPrincipal(scope);
  runtime.startTurn({ cause: "restart", attempt, principal, scope, entry, send, wake }, { live });
  return true;
}

// A task that waits for its caller needs no process meanwhile. A message that has arrived since starts the next turn.
async function leave(runtime: Runtime, stored: StoredTask): Promise<boolean> {
  const { key, scope } = stored.head;
  const { entries, inboxPut } = await runtime.store.inbox(key);
  if (entries.some(({ kind }) => kind === "cancel")) return endNow(runtime, stored, TaskState.CANCELED);
  const live = new LiveTask(runtime, stored);
  const entry = entries.find((each) => each.send !== undefined);
  if (entry?.send === undefined) {
    const takes = entries.map(({ id }) => id);
    const extras = { claim: { turn: live.turn }, takes, end: { inboxPut } };
    const left = live.exclusive([{ kind: "turnEnded" }], extras).catch((error: unknown) => {
      throw publicFailure(error);
    });
    return (await left) === "stored";
  }
  const { send, id } = entry;
  runtime.turns.check(scope);
  live.sawInbox(-1);
  const turn = live.turn + 1;
  const claimed = await claimTurn(runtime, live, {
    turn,
    drafts: [
      { kind: "turnEnded" },
      { kind: "turnStarted", turn, attempt: 1, cause: "message" },
      messageDraft(live, id, send),
    ],
    takes: [id],
  });
  if (claimed !== "claimed") return false;
  runtime.startTurn(
    { cause: "message", attempt: 1, principal: storedPrincipal(scope), scope, entry: id, send },
    { live },
  );
  return true;
}

function giveUp(runtime: Runtime, stored: StoredTask, text: string): Promise<boolean> {
  return endNow(runtime, stored, TaskState.FAILED, text);
}
