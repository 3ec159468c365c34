import { monotonic } from "../../protocol/async/clock.js";
import type { Scope } from "../../protocol/context.js";
import type { LiveTaskDeps, LostTask } from "./live-task-deps.js";
import { UnansweredWrite } from "./write.js";

/** Remembers a task to look after until its last write can no longer arrive. */
export function loseTask(
  { lostTasks, clock }: Pick<LiveTaskDeps, "lostTasks" | "clock">,
  { id, scope, key }: { readonly id: string; readonly scope: Scope; readonly key: number | undefined },
  reason: unknown,
): void {
  const open = reason instanceof UnansweredWrite;
  // A refused task that could not be ended yet stays refused.
  const refused = key === undefined || lostTasks.get(id)?.refused === true;
  const task: LostTask = { scope, idleSince: monotonic(clock), open, refused };
  lostTasks.set(id, task);
  if (!open) return;
  void reason.answer.then(() => {
    task.open = false;
    task.idleSince = monotonic(clock);
  });
}
