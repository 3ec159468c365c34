import { lookup as dnsLookup } from "node:dns/promises";
import type { Clock } from "../core/ports.js";
import type { TaskPushNotificationConfig } from "../protocol/model.js";
import { a2aMediaType } from "../protocol/service-parameters.js";
import { nameOf, type PushPolicy } from "./policy.js";

/** The addresses of a host name. Rejects when it has none. */
export type Lookup = (name: string) => Promise<readonly string[]>;

/** What became of one call. `failed`: another try may help. `refused`: none will. The reason holds no secrets. */
export type CallOutcome =
  | { readonly kind: "taken" }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "refused"; readonly reason: string };

/** Calls a webhook once. Never rejects: an abort of the signal ends it as a failure. */
export type CallWebhook = (
  config: TaskPushNotificationConfig,
  body: string,
  signal: AbortSignal,
) => Promise<CallOutcome>;

export interface CallOptions {
  readonly policy: PushPolicy;
  readonly lookup: Lookup;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/** The addresses that the system knows of a name. */
export const systemLookup: Lookup = async (name) =>
  (await dnsLookup(name, { all: true })).map(({ address }) => address);

/** Makes the calls to webhooks: POST over HTTP, whatever binding the task came by (spec 4.3.3). */
export function createWebhookCaller({ policy, lookup, clock, timeoutMs }: CallOptions): CallWebhook {
  // A name is looked up for each call, as who owns it may point it elsewhere at any time.
  const isAllowed = async (host: string): Promise<boolean> => {
    const verdict = policy.host(host);
    if (verdict !== "ask") return verdict === "allowed";
    const addresses = await lookup(nameOf(host));
    return addresses.length > 0 && addresses.every(policy.address);
  };

  return async (config, body, signal) => {
    const url = new URL(config.url);
    const limit = new AbortController();
    const leave = (): void => limit.abort(signal.reason);
    const cancelTimeout = clock.after(timeoutMs, () => limit.abort());
    signal.addEventListener("abort", leave, { once: true });
    try {
      signal.throwIfAborted();
      if (!(await orAborted(isAllowed(url.hostname), limit.signal))) {
        return { kind: "refused", reason: "its address is not allowed" };
      }
      const headers = headersOf(config);
      const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: limit.signal });
      // Nobody reads what a webhook says beside its status.
      response.body?.cancel().catch(() => {});
      return outcomeOf(response.status);
    } catch (error) {
      return { kind: "failed", reason: limit.signal.aborted ? `no answer within ${timeoutMs} ms` : reasonOf(error) };
    } finally {
      cancelTimeout();
      signal.removeEventListener("abort", leave);
    }
  };
}

function headersOf({ token, authentication }: TaskPushNotificationConfig): Headers {
  const headers = new Headers({ "Content-Type": a2aMediaType });
  if (authentication !== undefined) {
    headers.set("Authorization", `${authentication.scheme} ${authentication.credentials}`.trimEnd());
  }
  if (token !== "") headers.set("X-A2A-Notification-Token", token);
  return headers;
}

const retriedStatuses: ReadonlySet<number> = new Set([408, 429]);

function outcomeOf(status: number): CallOutcome {
  if (status >= 200 && status < 300) return { kind: "taken" };
  const kind = status >= 500 || retriedStatuses.has(status) ? "failed" : "refused";
  return { kind, reason: `it answered with status ${status}` };
}

// The text of an error may hold the URL, and with it a secret; its code does not.
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return "it could not be reached";
  return `it could not be reached (${"code" in cause ? String(cause.code) : cause.name})`;
}

function orAborted<T>(wait: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    wait.then(resolve, reject);
  });
}
