import type { PushRegistration } from "../core/ports.js";
import { WebhookDelivery } from "./webhook-delivery.js";
import type { DeliveryDeps } from "./webhook-sender.js";

// Webhooks: events of tasks are sent to the URLs that callers configured, in order and at least once.

/** The deliveries of a process: one for each configuration of an unfinished task. */
export interface WebhookDeliveries {
  /** The task may have new records. */
  wake(taskId: string): void;
  /** Returns false when it was already running. */
  add(registration: PushRegistration): boolean;
  remove(taskId: string, id: string): void;
  /** Accepts no more, lets all deliveries send what is pending, and resolves when they have ended. */
  drain(): Promise<void>;
  /** Stops all deliveries at once. */
  stop(): void;
}

const pollMs = 1000;

export function createWebhookDeliveries(deps: DeliveryDeps): WebhookDeliveries {
  const { tasks, clock, logger } = deps;
  const byTask = new Map<string, Map<string, WebhookDelivery>>();
  let cancelPoll: (() => void) | undefined;
  let closed = false;

  const all = (): readonly WebhookDelivery[] => [...byTask.values()].flatMap((deliveries) => [...deliveries.values()]);

  // Hints may be lost: one poll per second finds deliveries that are behind or whose task is gone.
  const poll = async (): Promise<void> => {
    const deliveries = all();
    try {
      const heads = await tasks.heads([...new Set(deliveries.map(({ key }) => key))]);
      const seqs = new Map(heads.map(({ key, seq }) => [key, seq]));
      for (const delivery of deliveries) {
        if ((seqs.get(delivery.key) ?? Number.POSITIVE_INFINITY) > delivery.position) delivery.wake();
      }
    } catch (error) {
      logger.warn({ err: error }, "the tasks of push configurations could not be polled");
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
    const delivery = new WebhookDelivery(deps, registration);
    const deliveries = byTask.get(taskId) ?? new Map<string, WebhookDelivery>();
    byTask.set(taskId, deliveries.set(config.id, delivery));
    void delivery.completion.then(() => {
      if (deliveries.get(config.id) === delivery) deliveries.delete(config.id);
      if (deliveries.size === 0 && byTask.get(taskId) === deliveries) byTask.delete(taskId);
    });
    schedulePoll();
  };

  return {
    wake(taskId) {
      for (const delivery of byTask.get(taskId)?.values() ?? []) delivery.wake();
    },
    add(registration) {
      if (closed) return false;
      const existing = byTask.get(registration.taskId)?.get(registration.config.id);
      if (existing?.finished !== false) start(registration);
      else existing.replace(registration);
      return existing?.finished !== false;
    },
    remove(taskId, id) {
      byTask.get(taskId)?.get(id)?.stop();
    },
    async drain() {
      closed = true;
      cancelPoll?.();
      const deliveries = all();
      for (const delivery of deliveries) delivery.drain();
      await Promise.all(deliveries.map(({ completion: done }) => done));
    },
    stop() {
      for (const delivery of all()) delivery.stop();
    },
  };
}
