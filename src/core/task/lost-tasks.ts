import { monotonic } from "../../protocol/async/clock.js";
import { Unanswered } from "../store-failure.js";
import type { LiveTask } from "./live-task.js";
import type { LiveTaskDeps, LostTask } from "./live-task-deps.js";

/** Remembers a task to look after until its last write can no longer arrive. */
export function loseTask(
  { lostTasks, clock }: Pick<LiveTaskDeps, "lostTasks" | "clock">,
  { id, scope, key, outlivesSend }: Pick<LiveTask, "id" | "scope" | "key" | "outlivesSend">,
  reason: unknown,
): void {
  const open = reason instanceof Unanswered;
  // A refused task that could not be ended yet stays refused.
  const refused = (key === undefined && !outlivesSend) || lostTasks.get(id)?.refused === true;
  const task: LostTask = { scope, idleSince: monotonic(clock), open, refused };
  lostTasks.set(id, task);
  if (!open) return;
  void reason.answer.then(() => {
    task.open = false;
    task.idleSince = monotonic(clock);
  });
}
