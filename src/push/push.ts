import type { Lookup } from "../binding/fetch/address-policy.js";
import { createNodeFetch, type NodeFetch } from "../binding/fetch/node-fetch.js";
import type { Clock, PushRegistration, PushService, PushStore, Signals, TaskStore } from "../core/ports.js";
import type { Logger } from "../protocol/logger.js";
import type { PushAdapter, Version } from "../version/codec.js";
import { type Adoption, startAdoption } from "./adoption.js";
import { createWebhookCaller } from "./call.js";
import { checkConfig } from "./check.js";
import { defaultPushLimits, type PushLimits } from "./limits.js";
import { createPolicy, type PushAllow } from "./policy.js";
import { createSemaphore } from "./semaphore.js";
import { createWebhookDeliveries, type WebhookDeliveries } from "./webhook-deliveries.js";
import type { DeliveryDeps } from "./webhook-sender.js";

export interface PushDeliveryOptions {
  readonly allow: PushAllow;
  /** `"event"`: each event of a task, chunks too. Default: each status, and each artifact when it is complete. */
  readonly every?: "event" | undefined;
  readonly store: PushStore;
  readonly tasks: TaskStore;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Those that are served, the newest first. */
  readonly versions: readonly Version[];
  readonly limits?: PushLimits | undefined;
  /**
   * Which agent of the store it is, as the request handler has it: configurations of others are not taken over.
   * Default: `""`.
   */
  readonly agentId?: string | undefined;
  /**
   * Instance of the request handler, in whose name configurations are held: it lives by the handler's heartbeat. Default:
   * none, so that nothing is taken over from others, nor left to them.
   */
  readonly instance?: string | undefined;
  /** How often configurations without a deliverer are looked for. Default: 3 s. */
  readonly adoptMs?: number | undefined;
  /** How names become addresses. Default: as the system does it. */
  readonly lookup?: Lookup | undefined;
}

/** Push notifications of one process: what the core asks, and the deliveries behind it. */
export interface Push {
  readonly service: PushService;
  /**
   * Sends what is there to be sent for two seconds at most, breaks off what is left, leaves that to other processes, and
   * ends. The stores stay open.
   */
  close(): Promise<void>;
}

const graceMs = 2000;
const defaultAdoptMs = 3000;

/** Makes the push notifications of a process. Throws a `TypeError` for an `allow` or an `every` that says nothing clear. */
export function createPush(options: PushDeliveryOptions): Push {
  const { store, signals, clock, every, allow, lookup, limits = defaultPushLimits } = options;
  if (every !== undefined && every !== "event") throw new TypeError('push.every must be "event", or left out');
  const policy = createPolicy(allow);
  const fetch = createNodeFetch({ policy, lookup, connectTimeoutMs: limits.pushTimeoutMs });
  const deliveries = createWebhookDeliveries(deliveryDeps(options, limits, fetch));
  const unsubscribe = signals.subscribe(({ kind, taskId }) => {
    if (kind === "moved") deliveries.wake(taskId);
  });
  const adoption = adoptionOf(options, deliveries);
  let closing: Promise<void> | undefined;
  const shutDown = async (): Promise<void> => {
    unsubscribe();
    adoption?.stop();
    const ended = deliveries.drain();
    const cancel = clock.after(graceMs, () => deliveries.stop());
    await ended;
    cancel();
    await adoption?.release(graceMs);
    await fetch.close();
  };
  return {
    service: {
      store,
      check: (config) => checkConfig(config, policy),
      added: (registration) => {
        deliveries.added(registration);
      },
      removed: (taskId, id) => deliveries.removed(taskId, id),
    },
    close() {
      closing ??= shutDown();
      return closing;
    },
  };
}

function adoptionOf(options: PushDeliveryOptions, deliveries: WebhookDeliveries): Adoption | undefined {
  const { store, clock, logger, agentId = "", instance, adoptMs: everyMs = defaultAdoptMs } = options;
  if (instance === undefined) return undefined;
  const take = (registration: PushRegistration): boolean => deliveries.added(registration);
  return startAdoption({ store, clock, logger, agentId, instance, everyMs, take });
}

function deliveryDeps(options: PushDeliveryOptions, limits: PushLimits, fetch: NodeFetch): DeliveryDeps {
  const { store, tasks, clock, logger, every, versions, instance } = options;
  return {
    store,
    instance,
    tasks,
    clock,
    logger,
    limits,
    everyEvent: every === "event",
    semaphore: createSemaphore(limits.pushCallsAtOnce),
    call: createWebhookCaller({ fetch, clock, timeoutMs: limits.pushTimeoutMs }),
    adapterOf: (registration) => adapterOf(versions, registration),
  };
}

// A webhook gets the payloads of its version; when that version is no longer served, those of the newest.
function adapterOf(versions: readonly Version[], { version }: PushRegistration): PushAdapter {
  const spoken = versions.find(({ name }) => name === version) ?? versions[0];
  if (spoken === undefined) throw new TypeError("no version is served");
  return spoken.push;
}
