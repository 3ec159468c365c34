import { TurnAborted } from "../agent.js";
import type { Runtime } from "../runtime.js";
import { type LiveTask, loseTask } from "../task/live-task.js";

const pageKeys = 500;

/** Gives up the tasks that another process has taken over. */
export async function checkHeld({
  live,
  store,
  instance,
}: Pick<Runtime, "live" | "store" | "instance">): Promise<void> {
  const tasksByKey = new Map<number, LiveTask>();
  for (const task of live.values()) if (task.key !== undefined) tasksByKey.set(task.key, task);
  const keys = [...tasksByKey.keys()];
  for (let from = 0; from < keys.length; from += pageKeys) {
    for (const { key, epoch, holder } of await store.heads(keys.slice(from, from + pageKeys))) {
      const task = tasksByKey.get(key);
      // The claim of a next turn may be under way here.
      if (task !== undefined && task.epoch < epoch && holder !== instance)
        task.abandon(new TurnAborted("OwnershipLost"));
    }
  }
}

/**
 * Gives up all tasks. The store was out of reach for so long that other processes, if there are any, have taken them
 * over. The remaining ones are ended or re-run when it is back.
 */
export function giveUpHeld(runtime: Pick<Runtime, "live" | "lostTasks" | "clock">): void {
  for (const task of [...runtime.live.values()]) {
    const reason = new TurnAborted("OwnershipLost");
    loseTask(runtime, task, reason);
    task.abandon(reason);
  }
}
