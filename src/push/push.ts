import type { Lookup } from "../binding/fetch/address-policy.js";
import { createNodeFetch } from "../binding/fetch/node-fetch.js";
import type { Clock, PushRegistration, PushService, PushStore, Signals, TaskStore } from "../core/ports.js";
import type { Logger } from "../protocol/logger.js";
import type { WebhookTelemetry } from "../protocol/telemetry/follow.js";
import type { PushAdapter, Version } from "../version/codec.js";
import { startAdoption } from "./adoption.js";
import { AttemptScheduler } from "./attempt-scheduler.js";
import { checkConfig } from "./check.js";
import { defaultPushLimits, type PushLimits } from "./limits.js";
import { createPolicy, type PushAllow } from "./policy.js";
import { createWebhookDeliveries } from "./webhook-delivery.js";
import { createWebhookPoster } from "./webhook-request.js";

export interface PushDeliveryOptions {
  readonly allow: PushAllow;
  /** `"milestones"`: each status and each complete artifact of a task. `"all"`: chunks too. Default: `"milestones"`. */
  readonly events?: "all" | "milestones" | undefined;
  readonly store: PushStore;
  readonly tasks: TaskStore;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The served versions, newest first. */
  readonly versions: readonly Version[];
  readonly limits?: PushLimits | undefined;
  /**
   * The agent's id in the store, the same as the request handler's: configurations of other agents are not adopted.
   * Default: `""`.
   */
  readonly agentId?: string | undefined;
  /**
   * Instance of the request handler, which holds the configurations and whose lease covers them. Default: none; then
   * nothing is adopted from others or left to them.
   */
  readonly instance?: string | undefined;
  /** How often orphaned configurations are looked for. Default: 3 s. */
  readonly adoptMs?: number | undefined;
  /** Resolves host names. Default: the system's resolver. */
  readonly lookup?: Lookup | undefined;
  /** Follows calls. Default: nothing does. */
  readonly telemetry?: WebhookTelemetry | undefined;
  /** Numbers from 0 to 1, for the pauses of failing destinations. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** Push notifications of one process: the port of the core, and its deliveries. */
export interface Push {
  readonly service: PushService;
  /** Notifications that are sent now, or wait for their turn. */
  readonly due: number;
  /**
   * Sends what is pending for at most two seconds, aborts the rest, releases it to other processes, and ends. The
   * stores stay open.
   */
  close(): Promise<void>;
}

const graceMs = 2000;
const defaultAdoptMs = 3000;

/** Creates the push notifications of a process. Throws a `TypeError` for an invalid `allow` or `events`. */
export function createPush(options: PushDeliveryOptions): Push {
  const { store, tasks, signals, clock, logger, events = "milestones", allow, lookup } = options;
  const { limits = defaultPushLimits, versions, agentId = "", instance, adoptMs = defaultAdoptMs } = options;
  if (events !== "all" && events !== "milestones")
    throw new TypeError(`push.events must be "all" or "milestones", not ${JSON.stringify(events)}`);
  const policy = createPolicy(allow);
  const fetch = createNodeFetch({ policy, lookup, connectTimeoutMs: limits.pushTimeoutMs });
  const scheduler = new AttemptScheduler({ clock, logger, limits, random: options.random });
  const deliveries = createWebhookDeliveries({
    store,
    instance,
    tasks,
    clock,
    logger,
    limits,
    telemetry: options.telemetry,
    everyEvent: events === "all",
    scheduler,
    post: createWebhookPoster({ fetch, clock, timeoutMs: limits.pushTimeoutMs }),
    findAdapter: (registration) => findAdapter(versions, registration),
  });
  const unsubscribe = signals.subscribe(({ kind, taskId }) => {
    if (kind === "moved") deliveries.wake(taskId);
  });
  const take = (registration: PushRegistration): boolean => deliveries.add(registration);
  const adoption =
    instance === undefined
      ? undefined
      : startAdoption({ store, clock, logger, agentId, instance, everyMs: adoptMs, take });
  let closing: Promise<void> | undefined;
  const shutDown = async (): Promise<void> => {
    unsubscribe();
    adoption?.stop();
    const drain = deliveries.drain();
    const cancel = clock.after(graceMs, () => deliveries.stop());
    await drain;
    cancel();
    scheduler.close();
    await adoption?.release(graceMs);
    await fetch.close();
  };
  return {
    get due() {
      return scheduler.due;
    },
    service: {
      store,
      check: (config) => checkConfig(config, policy),
      added: (registration) => {
        deliveries.add(registration);
      },
      removed: (taskId, id) => deliveries.remove(taskId, id),
    },
    close() {
      closing ??= shutDown();
      return closing;
    },
  };
}

// A webhook gets the payloads of its version or, if that is no longer served, those of the newest.
function findAdapter(versions: readonly Version[], { version }: PushRegistration): PushAdapter {
  const adapterVersion = versions.find(({ name }) => name === version) ?? versions[0];
  if (adapterVersion === undefined) throw new TypeError("no version is served");
  return adapterVersion.push;
}
