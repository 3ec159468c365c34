import { ForbiddenAddressError } from "../binding/fetch/address-policy.js";
import type { NodeFetch } from "../binding/fetch/node-fetch.js";
import type { Clock } from "../core/ports.js";
import { noop } from "../protocol/async/noop.js";
import { type HttpAnswer, readRetryAfter } from "../protocol/fetch.js";
import type { TaskPushNotificationConfig } from "../protocol/model.js";
import { withoutEmptyCredentials } from "../protocol/service-parameters.js";

/** A payload in the version with which the webhook was registered. */
export interface WebhookPayload {
  readonly body: string;
  readonly mediaType: string;
  /** Headers that carry the token. */
  readonly tokenHeaders: readonly string[];
  /** Headers that carry the trace of the call. */
  readonly traceHeaders?: Readonly<Record<string, string>> | undefined;
}

/**
 * The outcome of one call. `failed`: a retry may help, after `retryAfterMs` if the webhook gave that. `refused`: a retry
 * cannot help. The reason contains no secrets.
 */
export type AttemptOutcome =
  | { readonly kind: "taken" }
  | { readonly kind: "failed"; readonly reason: string; readonly retryAfterMs?: number | undefined }
  | { readonly kind: "refused"; readonly reason: string };

/** Calls a webhook once. Never rejects: aborting the signal ends the call as a failure. */
export type PostWebhook = (
  config: TaskPushNotificationConfig,
  payload: WebhookPayload,
  signal: AbortSignal,
) => Promise<AttemptOutcome>;

export interface WebhookRequestOptions {
  /** Refuses addresses that are not allowed. */
  readonly fetch: NodeFetch;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/** Creates the caller of webhooks: POST over HTTP, whatever binding created the task (spec 4.3.3). */
export function createWebhookPoster({ fetch, clock, timeoutMs }: WebhookRequestOptions): PostWebhook {
  return async (config, payload, signal) => {
    const limit = new AbortController();
    const leave = (): void => limit.abort(signal.reason);
    const cancelTimeout = clock.after(timeoutMs, () => limit.abort());
    signal.addEventListener("abort", leave, { once: true });
    try {
      signal.throwIfAborted();
      const headers = createHeaders(config, payload);
      const response = await fetch(config.url, {
        method: "POST",
        headers: Object.fromEntries(headers),
        body: payload.body,
        redirect: "manual",
        signal: limit.signal,
      });
      // Only the status of a webhook's answer is read.
      response.body?.cancel().catch(noop);
      return readOutcome(response, clock.now());
    } catch (error) {
      if (error instanceof ForbiddenAddressError) return { kind: "refused", reason: "its address is not allowed" };
      return {
        kind: "failed",
        reason: limit.signal.aborted ? `no answer within ${timeoutMs} ms` : describeFailure(error),
      };
    } finally {
      cancelTimeout();
      signal.removeEventListener("abort", leave);
    }
  };
}

function createHeaders(
  { token, authentication }: TaskPushNotificationConfig,
  { mediaType, tokenHeaders, traceHeaders }: WebhookPayload,
): Headers {
  const authorization =
    authentication === undefined
      ? {}
      : withoutEmptyCredentials({ Authorization: `${authentication.scheme} ${authentication.credentials}`.trimEnd() });
  const headers = new Headers({ "Content-Type": mediaType, ...traceHeaders, ...authorization });
  if (token !== "") for (const name of tokenHeaders) headers.set(name, token);
  return headers;
}

const retriedStatuses: ReadonlySet<number> = new Set([408, 429]);

function readOutcome({ status, headers }: HttpAnswer, now: number): AttemptOutcome {
  if (status >= 200 && status < 300) return { kind: "taken" };
  const reason = `it answered with status ${status}`;
  if (status < 500 && !retriedStatuses.has(status)) return { kind: "refused", reason };
  return { kind: "failed", reason, retryAfterMs: readRetryAfter(headers.get("retry-after"), now) };
}

// The text of an error may contain the URL and a secret in it; its code does not.
function describeFailure(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return "it could not be reached";
  return `it could not be reached (${"code" in cause ? String(cause.code) : cause.name})`;
}
