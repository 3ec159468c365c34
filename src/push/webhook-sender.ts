import type { Clock, PushRegistration, PushStore, TaskStore } from "../core/ports.js";
import { pause } from "../protocol/async/pause.js";
import type { Logger } from "../protocol/logger.js";
import type { StreamResponse } from "../protocol/model.js";
import type { PushAdapter } from "../version/codec.js";
import type { AskStore } from "./ask-store.js";
import { attemptOften } from "./attempts.js";
import type { CallOutcome, CallWebhook } from "./call.js";
import type { PushLimits } from "./limits.js";
import type { Semaphore } from "./semaphore.js";
import { type WebhookPayload, writeWebhookPayload } from "./webhook-payload.js";

/** What all deliveries of a process share. The process that holds a configuration delivers it. */
export interface DeliveryDeps {
  readonly store: PushStore;
  readonly tasks: TaskStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: PushLimits;
  readonly semaphore: Semaphore;
  readonly call: CallWebhook;
  /** What a webhook's version delivers: events or tasks. */
  readonly adapterOf: (registration: PushRegistration) => PushAdapter;
  readonly everyEvent: boolean;
  /** Only configurations held by this instance are delivered. `undefined`: all. */
  readonly instance: string | undefined;
}

interface DeliveryWays {
  readonly ask: AskStore;
  /** Aborts everything. */
  readonly stop: AbortSignal;
  /** Aborts waiting; calls continue. */
  readonly hurry: AbortSignal;
  /** Called the moment the configuration is found to be deleted or held by another process. */
  readonly onGone: () => void;
}

/** Delivers events to one webhook by its current configuration, as payloads of its version, with retries. */
export class WebhookSender {
  readonly #deps: DeliveryDeps;
  readonly #ways: DeliveryWays;
  /** The registration as last read, which determines version and address. */
  #registration: PushRegistration;
  /** Number of replacements of the configuration during deliveries. */
  #replaced = 0;

  constructor(deps: DeliveryDeps, registration: PushRegistration, ways: DeliveryWays) {
    this.#deps = deps;
    this.#registration = registration;
    this.#ways = ways;
  }

  replace(registration: PushRegistration): void {
    this.#registration = registration;
    this.#replaced += 1;
  }

  /** Sends to the webhook by its configuration at that time. Returns false when the configuration is gone. */
  async deliver(event: StreamResponse): Promise<boolean> {
    const payload = this.#write(event);
    return payload === undefined ? true : this.#send(payload);
  }

  /** What the webhook receives: events, or its task's current state. */
  get tells(): PushAdapter["tells"] {
    return this.#adapter.tells;
  }

  get #adapter(): PushAdapter {
    return this.#deps.adapterOf(this.#registration);
  }

  #write(response: StreamResponse): WebhookPayload | undefined {
    try {
      return writeWebhookPayload(this.#adapter, response, this.#registration);
    } catch (error) {
      this.#deps.logger.error(this.#said({ error }), "an event could not be written for a webhook");
      return undefined;
    }
  }

  // Returns false when the configuration is gone; an event that the webhook refuses is dropped.
  async #send(payload: WebhookPayload): Promise<boolean> {
    const { clock, limits, semaphore, logger } = this.#deps;
    const attempt = (): Promise<CallOutcome | "gone"> => semaphore.run(this.#ways.stop, () => this.#attempt(payload));
    const { outcome, attempts } = await attemptOften(attempt, limits, (ms) => pause(clock, ms, this.#ways.hurry));
    if (outcome === "gone") return false;
    this.#ways.stop.throwIfAborted();
    if (outcome.kind !== "taken") {
      const fields = this.#said({ attempts, reason: outcome.reason });
      logger.warn(fields, "a webhook did not take an event, it was given up");
    }
    return true;
  }

  async #attempt(payload: WebhookPayload): Promise<CallOutcome | "gone"> {
    const registration = await this.#current();
    if (registration === undefined) return "gone";
    this.#registration = registration;
    return this.#deps.call(registration.config, payload, this.#ways.stop);
  }

  // The configuration is read for each attempt: another process may have replaced, deleted or adopted it meanwhile.
  async #current(): Promise<PushRegistration | undefined> {
    const { store, instance } = this.#deps;
    const { key, config } = this.#registration;
    for (;;) {
      const before = this.#replaced;
      const registration = await this.#ways.ask(() => store.get(key, config.id));
      if (registration !== undefined && (instance ?? registration.holder) === registration.holder) return registration;
      if (this.#replaced === before) break;
    }
    this.#ways.onGone();
    return undefined;
  }

  #said(fields: object): object {
    const { taskId, config } = this.#registration;
    return { taskId, id: config.id, ...fields };
  }
}
