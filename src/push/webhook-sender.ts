import type { Clock, PushRegistration, PushStore, TaskStore } from "../core/ports.js";
import { backoffMs } from "../protocol/async/retry.js";
import { ownerKey } from "../protocol/fair-share.js";
import type { Logger } from "../protocol/logger.js";
import type { StreamResponse } from "../protocol/model.js";
import { responseUnderName } from "../protocol/task-names.js";
import type { WebhookTelemetry } from "../protocol/telemetry/follow.js";
import type { TraceContext } from "../protocol/telemetry/trace.js";
import type { PushAdapter } from "../version/codec.js";
import type { AskStore } from "./ask-store.js";
import type { AttemptScheduler, WebhookRoute } from "./attempt-scheduler.js";
import type { PushLimits } from "./limits.js";
import type { AttemptOutcome, PostWebhook, WebhookPayload } from "./webhook-request.js";

// How one event gets to one webhook. Each attempt waits for its turn (`attempt-scheduler.ts`), and only then reads the event
// and the configuration, since both may have changed meanwhile:
//
//   the configuration is deleted, or another process holds it    ──▶ gone
//   it names another destination than the turn was for           ──▶ moved: a turn at that one, not counted as an attempt
//   the log no longer has the event                              ──▶ lost: the task is sent instead
//   the webhook takes it, or refuses it, or it cannot be written ──▶ done
//   the call fails                                               ──▶ again after a pause; dropped after `pushAttempts` attempts

/** Dependencies that all deliveries of a process share. The process that holds a configuration delivers it. */
export interface DeliveryDeps {
  readonly store: PushStore;
  readonly tasks: TaskStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: PushLimits;
  readonly scheduler: AttemptScheduler;
  readonly post: PostWebhook;
  /** Finds the adapter of a webhook's version, which delivers events or tasks. */
  readonly findAdapter: (registration: PushRegistration) => PushAdapter;
  /** Follows calls. Absent without telemetry. */
  readonly telemetry?: WebhookTelemetry | undefined;
  readonly everyEvent: boolean;
  /** Only configurations held by this instance are delivered. `undefined`: all. */
  readonly instance: string | undefined;
}

interface DeliveryControls {
  readonly ask: AskStore;
  /** Aborts everything. */
  readonly stop: AbortSignal;
  /** Aborts waiting; calls continue. */
  readonly flushNow: AbortSignal;
  /** Called the moment the configuration is found to be deleted or held by another process. */
  readonly onGone: () => void;
}

/** Reads an event again for each attempt, so that a waiting delivery keeps none in memory. `undefined`: it is lost. */
type EventSource = () => Promise<StreamResponse | undefined>;

/** `gone`: the configuration is deleted, or another process delivers it. `lost`: the log no longer has the event. */
type DeliveryResult = "done" | "gone" | "lost";

const pauseFactor = 4;

class DestinationChanged extends Error {}

/** Delivers events to one webhook by its current configuration, as payloads of its version, with retries. */
export class WebhookSender {
  readonly #deps: DeliveryDeps;
  readonly #controls: DeliveryControls;
  /** The registration as last read, which determines version and address. */
  #registration: PushRegistration;
  /** Number of replacements of the configuration during deliveries. */
  #replacements = 0;
  /** Aborted when the configuration is replaced by one for another destination. */
  #destinationChange = new AbortController();

  constructor(deps: DeliveryDeps, registration: PushRegistration, controls: DeliveryControls) {
    this.#deps = deps;
    this.#registration = registration;
    this.#controls = controls;
  }

  replace(registration: PushRegistration): void {
    const { origin } = this.#route;
    this.#registration = registration;
    this.#replacements += 1;
    if (this.#route.origin === origin) return;
    this.#destinationChange.abort(new DestinationChanged());
    this.#destinationChange = new AbortController();
  }

  /** Whether a call would start at once. */
  get isFree(): boolean {
    return this.#deps.scheduler.isFree(this.#route);
  }

  /** Sends to the webhook by its configuration at that time. An event that the webhook refuses is dropped. */
  async deliver(event: EventSource): Promise<DeliveryResult> {
    const { limits, logger } = this.#deps;
    let pauseMs = 0;
    for (let attempts = 1; ; ) {
      const result = await this.#attemptInTurn(event, pauseMs);
      if (result === "destinationChanged") {
        pauseMs = 0;
        continue;
      }
      if (typeof result === "string") return result;
      this.#controls.stop.throwIfAborted();
      if (result.kind === "taken") return "done";
      if (result.kind === "refused" || attempts >= limits.pushAttempts) {
        const fields = this.#logFields({ attempts, reason: result.reason });
        logger.warn(fields, "a webhook did not take an event, which was dropped");
        this.#deps.telemetry?.countDropped();
        return "done";
      }
      pauseMs = backoffMs(attempts, { firstMs: limits.pushRetryMs, factor: pauseFactor });
      attempts += 1;
    }
  }

  /** Whether the webhook receives events or its task's current state. */
  get delivers(): PushAdapter["delivers"] {
    return this.#adapter.delivers;
  }

  get #adapter(): PushAdapter {
    return this.#deps.findAdapter(this.#registration);
  }

  // `undefined` for content that the version cannot express.
  #write(response: StreamResponse): WebhookPayload | undefined {
    const { taskName } = this.#registration;
    try {
      const adapter = this.#adapter;
      const { mediaType, tokenHeaders } = adapter;
      const event = taskName === undefined ? response : responseUnderName(response, taskName);
      return { body: adapter.write({ response: event }), mediaType, tokenHeaders };
    } catch (error) {
      this.#deps.logger.error(this.#logFields({ err: error }), "an event could not be written for a webhook");
      return undefined;
    }
  }

  // `destinationChanged`: the turn, or the call that failed, was for another destination than the configuration now has.
  async #attemptInTurn(
    event: EventSource,
    pauseMs: number,
  ): Promise<AttemptOutcome | DeliveryResult | "destinationChanged"> {
    const { stop, flushNow } = this.#controls;
    const route = this.#route;
    const ticket = { ...route, pauseMs, flushNow, signals: [stop, this.#destinationChange.signal] };
    try {
      const result = await this.#deps.scheduler.run(ticket, () => this.#attempt(event, route.origin));
      const isFailed = typeof result !== "string" && result.kind === "failed";
      return isFailed && this.#route.origin !== route.origin ? "destinationChanged" : result;
    } catch (error) {
      if (error instanceof DestinationChanged) return "destinationChanged";
      throw error;
    }
  }

  async #attempt(event: EventSource, origin: string): Promise<AttemptOutcome | DeliveryResult | "destinationChanged"> {
    const response = await event();
    if (response === undefined) return "lost";
    const payload = this.#write(response);
    if (payload === undefined) return "done";
    const registration = await this.#current();
    if (registration === undefined) return "gone";
    this.#registration = registration;
    if (this.#route.origin !== origin) return "destinationChanged";
    return this.#post(registration, payload);
  }

  #post({ key, taskId, config }: PushRegistration, payload: WebhookPayload): Promise<AttemptOutcome> {
    const { post: call, tasks, telemetry } = this.#deps;
    const { stop } = this.#controls;
    if (telemetry === undefined) return call(config, payload, stop);
    const about = { taskId, url: config.url, cause: () => findTurnCause(tasks, key) };
    return telemetry.call(about, (traceHeaders) => call(config, { ...payload, traceHeaders }, stop));
  }

  // The configuration is read for each attempt: another process may have replaced, deleted or adopted it meanwhile.
  async #current(): Promise<PushRegistration | undefined> {
    const { store, instance } = this.#deps;
    const { key, config } = this.#registration;
    for (;;) {
      const before = this.#replacements;
      const registration = await this.#controls.ask(() => store.get(key, config.id));
      if (registration !== undefined && (instance ?? registration.holder) === registration.holder) return registration;
      if (this.#replacements === before) break;
    }
    this.#controls.onGone();
    return undefined;
  }

  get #route(): WebhookRoute {
    const { scope, config } = this.#registration;
    return { owner: ownerKey(scope), origin: new URL(config.url).origin };
  }

  #logFields(fields: object): object {
    const { taskId, config } = this.#registration;
    return { taskId, id: config.id, ...fields };
  }
}

/** Finds the cause of a task's last turn in its trace: the wake that started it, or the send of its message. */
async function findTurnCause(tasks: TaskStore, key: number): Promise<TraceContext | undefined> {
  const [head] = await tasks.heads([key]);
  if (head === undefined) return undefined;
  const start = (await tasks.recordsAt(key, [head.turnSeq])).find(({ seq }) => seq === head.turnSeq);
  const { trace, message = head.turnSeq + 1 } = start?.kind === "turnStarted" ? start : {};
  if (trace !== undefined) return trace;
  const messageRecord = (await tasks.recordsAt(key, [message])).find(({ seq }) => seq === message);
  return messageRecord?.kind === "message" ? messageRecord.context?.trace : undefined;
}
