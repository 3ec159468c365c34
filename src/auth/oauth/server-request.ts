import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Clock, callerClock } from "../../protocol/async/clock.js";
import { maySendSecret } from "../../protocol/authorization/may-send-secret.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { A2AError } from "../../protocol/errors.js";
import { type Fetch, type FetchInit, type HttpAnswer, listCauses, readTextWithin } from "../../protocol/fetch.js";
import type { CredentialEnvironment, OAuthSecret } from "../credential-options.js";
import { UntrustedOriginError } from "./untrusted-origin.js";

/** An environment with its defaults. */
export interface ServerEnvironment {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly allowPlaintext: boolean;
  readonly timeoutMs: number;
  /** Origins that may be called. */
  readonly trustedOrigins: readonly string[];
}

/** Fills in the defaults. A card may name any server, so only its own origin and those the caller lists are called. */
export function resolveEnvironment(environment: CredentialEnvironment, secret: OAuthSecret): ServerEnvironment {
  const { fetch, clock = callerClock, allowPlaintext = false, timeoutMs = 10_000, cardUrl } = environment;
  const { trustedOrigins = cardUrl === undefined ? [] : [new URL(cardUrl).origin] } = secret;
  return { fetch, clock, allowPlaintext, timeoutMs, trustedOrigins };
}

/** A URL of an authorization server, and its name in error messages: `token endpoint`. */
export interface AuthEndpoint {
  readonly url: string;
  readonly what: string;
}

/** A request to an authorization server. */
export interface AuthServerRequest extends AuthEndpoint {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent by POST; without it the call is a GET. */
  readonly form?: URLSearchParams | undefined;
}

/** The answer of an authorization server. */
export interface ServerAnswer {
  readonly status: number;
  /** `undefined` when the body is not a JSON object. */
  readonly json: JsonObject | undefined;
}

const maxBytes = 64 * 1024;

/**
 * Calls an authorization server within limits of time and size. Throws `unavailable` when no answer comes, and
 * `unauthenticated` when the server is not trusted, its URL may not carry secrets or the answer is too large. Messages
 * never contain any of the answer.
 */
export async function requestServer(
  environment: ServerEnvironment,
  call: AuthServerRequest,
  signal: AbortSignal,
): Promise<ServerAnswer> {
  assertServer(environment, call);
  signal.throwIfAborted();
  const limit = new AbortController();
  const cancel = environment.clock.after(environment.timeoutMs, () => limit.abort());
  try {
    const response = await environment.fetch(call.url, createRequest(call, AbortSignal.any([signal, limit.signal])));
    return { status: response.status, json: await readJson(call, response) };
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof A2AError) throw cause;
    throw new A2AError("unavailable", describeFailure(call, environment, limit.signal), {
      cause: listCauses(cause)[0],
    });
  } finally {
    cancel();
    // Cancels a body that was not read to the end.
    limit.abort();
  }
}

/** Throws `unauthenticated` unless secrets may be sent to an endpoint, and the user to its page. */
export function assertServer({ allowPlaintext, trustedOrigins }: ServerEnvironment, call: AuthEndpoint): void {
  if (!maySendSecret(call.url, allowPlaintext)) {
    throw new A2AError("unauthenticated", `${describeEndpoint(call)} is not https, and plaintext is not allowed`);
  }
  const origin = new URL(call.url).origin;
  if (trustedOrigins.includes(origin)) return;
  const trustedList = trustedOrigins.length === 0 ? "no origin is" : `only ${trustedOrigins.join(", ")} is`;
  const problem = `${describeEndpoint(call)} is not trusted with the client's secret, ${trustedList}`;
  throw new UntrustedOriginError(problem, origin.slice(0, shownLength));
}

function createRequest({ form, headers }: AuthServerRequest, signal: AbortSignal): FetchInit {
  const accept = { ...headers, accept: "application/json" };
  const always = { signal, redirect: "error" } as const;
  if (form === undefined) return { ...always, headers: accept };
  const contentType = "application/x-www-form-urlencoded";
  return { ...always, method: "POST", headers: { ...accept, "content-type": contentType }, body: form.toString() };
}

function describeFailure(call: AuthServerRequest, { timeoutMs }: ServerEnvironment, limit: AbortSignal): string {
  if (limit.aborted) return `${describeEndpoint(call)} did not answer within ${timeoutMs} ms`;
  return `${describeEndpoint(call)} cannot be reached, or redirects, which is not followed`;
}

const jsonType = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

async function readJson(call: AuthServerRequest, response: HttpAnswer): Promise<JsonObject | undefined> {
  if (response.body === null || !jsonType.test(response.headers.get("content-type") ?? "")) return undefined;
  const text = await readTextWithin(response.body.getReader(), maxBytes, () => {
    const message = `the answer of ${describeEndpoint(call)} is over the limit of ${maxBytes} bytes`;
    return new A2AError("unauthenticated", message);
  });
  return parseObject(text);
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const json: JsonValue = JSON.parse(text);
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

const shownLength = 200;

/** The endpoint in error messages: without its query, and shortened if long. */
export function describeEndpoint({ what, url }: AuthEndpoint): string {
  const parsed = URL.parse(url);
  const place = parsed === null ? JSON.stringify(url.slice(0, shownLength)) : parsed.origin + parsed.pathname;
  return `the ${what} ${place.slice(0, shownLength)}`;
}

/** The error for an unusable answer: `unavailable` when the server is at fault, or asks to wait. */
export function answerError(call: AuthEndpoint, status: number, content: string): A2AError {
  if (status >= 500 || status === 429) {
    return new A2AError("unavailable", `${describeEndpoint(call)} answered with HTTP status ${status}`);
  }
  return new A2AError(
    "unauthenticated",
    `${describeEndpoint(call)} answered with HTTP status ${status} and ${content}`,
  );
}

/** A text member of an answer. Throws `unauthenticated` if it is missing or not text. */
export function readText(json: JsonObject, name: string, call: AuthEndpoint): string {
  const value = json[name];
  if (typeof value === "string" && value !== "") return value;
  throw new A2AError("unauthenticated", `the answer of ${describeEndpoint(call)} has no ${name}`);
}

/** A member with a positive number of seconds, as milliseconds and at most `mostMs`; `undefined` when it is missing. */
export function readDuration(json: JsonObject, name: string, call: AuthEndpoint, mostMs: number): number | undefined {
  const value = json[name];
  if (value === undefined || value === null) return undefined;
  // Some servers send numbers as strings.
  const seconds = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof seconds === "number" && seconds > 0) return Math.min(seconds * 1000, mostMs);
  throw new A2AError("unauthenticated", `${name} of ${describeEndpoint(call)} must be a number of seconds more than 0`);
}
