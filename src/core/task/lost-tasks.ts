import { monotonic } from "../../protocol/async/clock.js";
import { Unanswered } from "../store-failure.js";
import type { LiveTask } from "./live-task.js";
import type { LiveTaskDeps, LostTask } from "./live-task-deps.js";

/** Remembers a task to look after until its last write can no longer arrive. */
export function loseTask(
  { lostTasks, clock }: Pick<LiveTaskDeps, "lostTasks" | "clock">,
  live: Pick<LiveTask, "id" | "scope" | "key" | "outlivesSend" | "isWriting" | "settle">,
  reason: unknown,
): void {
  const { id, scope, key, outlivesSend } = live;
  const open = reason instanceof Unanswered || live.isWriting;
  // A refused task that could not be ended yet stays refused.
  const refused = (key === undefined && !outlivesSend) || lostTasks.get(id)?.refused === true;
  const task: LostTask = { scope, idleSince: monotonic(clock), open, refused };
  lostTasks.set(id, task);
  if (!open) return;
  const answer = reason instanceof Unanswered ? reason.answer : live.settle();
  void answer.then(() => {
    task.open = false;
    task.idleSince = monotonic(clock);
  });
}
