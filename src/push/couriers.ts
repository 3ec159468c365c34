import type { PushRegistration } from "../core/ports.js";
import { Courier } from "./courier.js";
import type { CourierDeps } from "./delivery.js";

/** The couriers of a process: one for each configuration of a task that has not ended. */
export interface Couriers {
  /** The task may have new records. */
  wake(taskId: string): void;
  /** False when it was under way already. */
  added(registration: PushRegistration): boolean;
  removed(taskId: string, id: string): void;
  /** Takes nothing more, lets all of them send what is there, and resolves when they have ended. */
  drain(): Promise<void>;
  /** Ends all of them at once. */
  stop(): void;
}

const pollMs = 1000;

export function createCouriers(deps: CourierDeps): Couriers {
  const { tasks, clock, logger } = deps;
  const byTask = new Map<string, Map<string, Courier>>();
  let cancelPoll: (() => void) | undefined;
  let closed = false;

  const all = (): readonly Courier[] => [...byTask.values()].flatMap((couriers) => [...couriers.values()]);

  // Hints may be lost: one poll a second finds the couriers that are behind, and those whose task is gone.
  const poll = async (): Promise<void> => {
    const couriers = all();
    try {
      const heads = await tasks.heads([...new Set(couriers.map(({ key }) => key))]);
      const seqs = new Map(heads.map(({ key, seq }) => [key, seq]));
      for (const courier of couriers) {
        if ((seqs.get(courier.key) ?? Number.POSITIVE_INFINITY) > courier.position) courier.wake();
      }
    } catch (error) {
      logger.warn({ error }, "the tasks of push configurations could not be polled");
    }
    cancelPoll = undefined;
    schedulePoll();
  };

  const schedulePoll = (): void => {
    if (closed || byTask.size === 0) return;
    cancelPoll ??= clock.after(pollMs, () => void poll());
  };

  const start = (registration: PushRegistration): void => {
    const { taskId, config } = registration;
    const courier = new Courier(deps, registration);
    const couriers = byTask.get(taskId) ?? new Map<string, Courier>();
    byTask.set(taskId, couriers.set(config.id, courier));
    void courier.done.then(() => {
      if (couriers.get(config.id) === courier) couriers.delete(config.id);
      if (couriers.size === 0 && byTask.get(taskId) === couriers) byTask.delete(taskId);
    });
    schedulePoll();
  };

  return {
    wake(taskId) {
      for (const courier of byTask.get(taskId)?.values() ?? []) courier.wake();
    },
    added(registration) {
      if (closed) return false;
      const known = byTask.get(registration.taskId)?.get(registration.config.id);
      if (known?.finished !== false) start(registration);
      else known.replace(registration);
      return known?.finished !== false;
    },
    removed(taskId, id) {
      byTask.get(taskId)?.get(id)?.stop();
    },
    async drain() {
      closed = true;
      cancelPoll?.();
      const couriers = all();
      for (const courier of couriers) courier.drain();
      await Promise.all(couriers.map(({ done }) => done));
    },
    stop() {
      for (const courier of all()) courier.stop();
    },
  };
}
