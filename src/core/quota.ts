import type { Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { scopeKey } from "../protocol/fair-share.js";
import type { CoreLimits } from "./limits.js";
import type { TaskStore } from "./ports.js";

/** Bounds the unfinished tasks of each owner. */
export interface TaskQuota {
  /**
   * `undefined` while the owner is known to have room for another task; else a promise that asks the store and rejects
   * with `resourceExhausted` when there is none.
   */
  admit(scope: Scope): Promise<void> | undefined;
}

/** Number of owners remembered. A forgotten one is counted again. */
const ownersMax = 10_000;

/** How many tasks an unknown owner may start before it is counted. */
const unknownMax = 100;

/** How many tasks an owner may still start. Shared by all sends that wait for one count. */
interface Count {
  left: number;
}

/**
 * Counts the sends of each owner in memory, and its tasks in the store only when they could be over the limit. Several
 * processes on a store may let an owner exceed the limit by some tasks. Sends wait for `store`, so its calls need a time limit.
 */
export function createTaskQuota(
  store: Pick<TaskStore, "unfinished">,
  { tasksPerOwner }: Pick<CoreLimits, "tasksPerOwner">,
): TaskQuota {
  if (tasksPerOwner === Number.POSITIVE_INFINITY) return { admit: () => undefined };
  /** How many tasks each owner may start until it is counted again. */
  const rooms = new Map<string, number>();
  const remember = (owner: string, room: number): void => {
    rooms.delete(owner);
    rooms.set(owner, room);
    const [oldest] = rooms.keys();
    if (rooms.size > ownersMax && oldest !== undefined) rooms.delete(oldest);
  };
  const counts = new Map<string, Promise<Count>>();
  const count = (owner: string, scope: Scope): Promise<Count> => {
    const counting = store
      .unfinished(scope)
      .then((unfinished) => ({ left: tasksPerOwner - unfinished }))
      .finally(() => counts.delete(owner));
    counts.set(owner, counting);
    return counting;
  };
  const admitCounted = async (owner: string, scope: Scope): Promise<void> => {
    const room = await (counts.get(owner) ?? count(owner, scope));
    room.left -= 1;
    remember(owner, Math.max(0, Math.ceil((room.left + 1) / 4) - 1));
    if (room.left >= 0) return;
    throw new A2AError(
      "resourceExhausted",
      `too many unfinished tasks of this caller: the limit is ${tasksPerOwner} (tasksPerOwner)`,
      { retryAfterMs: 60_000, metadata: { limit: "tasksPerOwner" } },
    );
  };
  return {
    admit(scope) {
      const owner = scopeKey(scope);
      const room = rooms.get(owner) ?? Math.min(unknownMax, Math.ceil(tasksPerOwner / 4));
      if (room <= 0) return admitCounted(owner, scope);
      remember(owner, room - 1);
      return undefined;
    },
  };
}
