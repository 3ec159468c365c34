import { TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import type { Head, StoredTask, WaitingCursor } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { endNow } from "./claim-turn.js";

const page = 100;

/**
 * Ends tasks that have waited for their callers, or parked without a time, for longer than `taskWaitMaxMs`: FAILED, by
 * a claimed write, so that subscribers and webhooks hear of it.
 */
export async function expireWaiting(runtime: Runtime): Promise<void> {
  const { store, agentId, limits, alarm } = runtime;
  const text = `the task has waited for longer than it may: the limit is ${limits.taskWaitMaxMs} ms (taskWaitMaxMs)`;
  for (let after: WaitingCursor | undefined; ; ) {
    const heads: readonly Head[] = await store.waiting(agentId, limits.taskWaitMaxMs, page, after);
    for (const { scope, id, statusTime } of heads) {
      if (alarm.closed) return;
      const storedTask = await store.read(scope, id);
      if (storedTask !== undefined && stillWaits(storedTask, statusTime))
        await endNow(runtime, storedTask, { state: TaskState.FAILED, text });
    }
    after = heads.at(-1);
    if (heads.length < page) return;
  }
}

// The task may have continued since its head was read.
function stillWaits({ head }: StoredTask, statusTime: number): boolean {
  return head.statusTime === statusTime && head.holder === "" && head.wakeAt === undefined && !isTerminal(head.state);
}
