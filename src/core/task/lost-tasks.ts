import { monotonic } from "../../protocol/async/clock.js";
import type { Scope } from "../../protocol/context.js";
import type { LiveTaskDeps, LostTask } from "./live-task-deps.js";
import { UnansweredWrite } from "./write.js";

/** Remembers a task to look after until its last write can no longer arrive. */
export function loseTask(
  { lost, clock }: Pick<LiveTaskDeps, "lost" | "clock">,
  { id, scope, key }: { readonly id: string; readonly scope: Scope; readonly key: number | undefined },
  reason: unknown,
): void {
  const open = reason instanceof UnansweredWrite;
  // A refused task that could not be ended yet stays refused.
  const refused = key === undefined || lost.get(id)?.refused === true;
  const task: LostTask = { scope, since: monotonic(clock), open, refused };
  lost.set(id, task);
  if (!open) return;
  void reason.settled.then(() => {
    task.open = false;
    task.since = monotonic(clock);
  });
}
