import type { PushService, PushStore, TaskStore } from "../../../src/core/ports.js";
import { type Logger, silentLogger } from "../../../src/protocol/logger.js";
import { TaskState } from "../../../src/protocol/model.js";
import { type Adoption, startAdoption } from "../../../src/push/adoption.js";
import { AttemptScheduler } from "../../../src/push/attempt-scheduler.js";
import { defaultPushLimits } from "../../../src/push/limits.js";
import { createWebhookDeliveries, type WebhookDeliveries } from "../../../src/push/webhook-delivery.js";
import { memoryPushStore } from "../../../src/store/memory/push-store.js";
import { v1 } from "../../../src/version/v1.0/v1.js";
import { around, faultPushStore } from "../../support/fault-store.js";
import type { Journal } from "../simulator/journal.js";
import type { Process } from "../simulator/process.js";
import type { Stage } from "./stage.js";

/** Push notifications of one process, delivered to webhooks in this process. */
export interface PushOf {
  readonly service: PushService;
  /** Sends what is pending for it and leaves the rest to others. */
  close(): Promise<void>;
}

/** The webhooks of a stage, and the store of their configurations. */
export class Webhooks {
  readonly store: PushStore;
  /** Acknowledged configurations, and the record after which they receive their task's events. */
  readonly acknowledged = new Map<string, { readonly taskId: string; readonly after: number }>();
  /** Texts delivered to each configuration. */
  readonly #received = new Map<string, string[]>();

  /** What webhooks are owed but never received. Delivery is at least once, in log order. */
  missing({ tasks }: Journal): readonly string[] {
    return [...this.acknowledged].flatMap(([id, { taskId, after }]) => {
      const events = this.#received.get(id) ?? [];
      const owed = tasks.get(taskId)?.records.filter(({ kind, seq }) => kind === "event" && seq > after) ?? [];
      let place = -1;
      for (const record of owed) {
        if (record.kind !== "event" || record.event.payload.case !== "statusUpdate") continue;
        const text = v1.push.write({ response: record.event });
        place = events.indexOf(text, place + 1);
        const state = TaskState[record.event.payload.value.status?.state ?? 0];
        if (place < 0) return [`${id} was never told of record ${record.seq} of ${taskId}, ${state}`];
      }
      return [];
    });
  }

  /** `expired`: instances presumed dead, as known to a store that keeps both tasks and configurations. */
  constructor(expired: () => readonly string[]) {
    const memory = memoryPushStore();
    this.store = around(memory, async ({ method }, go) => {
      if (method === "adopt") for (const instance of expired()) await memory.release("", instance);
      return go();
    });
  }

  of(stage: Stage, process: Process, tasks: TaskStore): PushOf {
    const store = faultPushStore(this.store, stage.plan);
    const { clock } = process;
    const instance = instanceOf(process);
    const shared = { store, clock, logger: silentLogger satisfies Logger, instance };
    const limits = { ...defaultPushLimits, pushCallsAtOnce: 2 };
    const deliveries = createWebhookDeliveries({
      ...shared,
      tasks,
      limits,
      everyEvent: false,
      scheduler: new AttemptScheduler({ clock, logger: silentLogger, limits }),
      findAdapter: () => v1.push,
      post: async ({ id }, { body }) => {
        this.#received.set(id, [...(this.#received.get(id) ?? []), body]);
        return { kind: "taken" };
      },
    });
    const take: Parameters<typeof startAdoption>[0]["take"] = (registration) => deliveries.add(registration);
    return pushOf(stage, {
      store,
      deliveries,
      adoption: startAdoption({ ...shared, agentId: "", everyMs: 3000, take }),
    });
  }
}

function pushOf(
  { listeners }: Stage,
  {
    store,
    deliveries,
    adoption,
  }: { readonly store: PushStore; readonly deliveries: WebhookDeliveries; readonly adoption: Adoption },
): PushOf {
  const hear = ({ taskId }: { readonly taskId: string }): void => deliveries.wake(taskId);
  listeners.add(hear);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    listeners.delete(hear);
    adoption.stop();
    await deliveries.drain();
    await adoption.release(2000);
  };
  return {
    service: {
      store,
      check: () => [],
      added: (registration) => void deliveries.add(registration),
      removed: (taskId, id) => deliveries.remove(taskId, id),
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** The first id that a handler requests names its instance. */
function instanceOf({ name }: Process): string {
  return `${name}-1`;
}
