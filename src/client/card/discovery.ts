import { parseAnswer, readText, withAnswerHeaders } from "../../binding/fetch/answer.js";
import { fetchFailure } from "../../binding/fetch/failure.js";
import { A2AError, CallError } from "../../protocol/errors.js";
import type { Fetch } from "../../protocol/fetch.js";
import { trimSlashes } from "../../protocol/http-routes.js";
import type { AgentCard } from "../../protocol/model.js";
import { parseVersion, versionParameter } from "../../protocol/service-parameters.js";
import { isListed } from "../../version/traits.js";
import { versionTable } from "../../version/versions.js";
import { isUnavailable } from "../failures.js";
import type { CardCache } from "./card-cache.js";
import type { ReadCard } from "./read-card.js";

// Cards of agents: where they are, how long they are cached, and which of their interfaces can be called.

export interface DiscoveryOptions {
  readonly fetch: Fetch;
  readonly headers: Readonly<Record<string, string>>;
  readonly readCard: ReadCard;
  readonly cache: CardCache | undefined;
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** Time left of `timeoutMs` after earlier attempts. Default: all of it. */
  readonly leftMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Version whose card is requested. Default: the card for readers of any version. */
  readonly version?: string | undefined;
}

/** A card and its URL. */
export interface FoundCard {
  readonly card: AgentCard;
  readonly url: string;
}

const wellKnown = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

/**
 * URLs at which an agent's card may be: the URL itself if it ends in `.json`, else the well-known paths below it and at
 * its origin (spec 8.2). A card at the origin is only taken if it lists an interface at or below the path of the URL.
 * In a page, a relative URL is resolved against that of the page. Throws a `TypeError` for a URL that is not HTTP or
 * contains a password.
 */
export function cardUrls(agent: string | URL): readonly string[] {
  const url = URL.parse(String(agent), Object(globalThis)["location"]?.href);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(`the agent must be an http or https URL, not ${JSON.stringify(String(agent).slice(0, 80))}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError(`the URL of the agent at ${url.host} has credentials: use the option credentials`);
  }
  url.hash = "";
  if (url.pathname.endsWith(".json")) return [url.href];
  const base = `${url.origin}${trimSlashes(url.pathname)}`;
  return [...new Set([base, url.origin].flatMap((location) => wellKnown.map((path) => `${location}${path}`)))];
}

/** Bindings and versions that a client can call. */
export interface SupportedProtocols {
  /** Versions that may be used. Default: any that the client knows. */
  readonly versions: readonly string[] | undefined;
  /** Whether a card lists an interface that this client can and may call. */
  isCallable(card: AgentCard): boolean;
}

/**
 * Finds an agent's card. If it lists nothing callable, the card is requested in each version that cards do not list: an
 * agent shows those interfaces to callers that declare the version. If none is callable the first card is used. Throws
 * what `findCard` throws.
 */
export async function findCallableCard(
  urls: readonly string[],
  options: DiscoveryOptions,
  { versions = versionTable.map(({ name }) => name), isCallable }: SupportedProtocols,
): Promise<FoundCard> {
  const firstCard = await findCard(urls, options);
  if (isCallable(firstCard.card)) return firstCard;
  const listedVersions = firstCard.card.supportedInterfaces.map(({ protocolVersion }) => parseVersion(protocolVersion));
  for (const version of versions.filter((each) => !isListed(each) && !listedVersions.includes(each))) {
    const versionCard = await findCard([firstCard.url], { ...options, version }).catch(ignoreAnswer);
    if (versionCard !== undefined && isCallable(versionCard.card)) return versionCard;
  }
  return firstCard;
}

// An agent without such a card may answer in any way.
function ignoreAnswer(error: unknown): undefined {
  if (!(error instanceof A2AError)) throw error;
}

/** Fetches an agent's card from the first URL that has one. If none has, throws what the URLs answered. */
async function findCard(urls: readonly string[], options: DiscoveryOptions): Promise<FoundCard> {
  const path = readBasePath(urls[0] ?? "");
  const problems: string[] = [];
  const cardErrors: A2AError[] = [];
  let away: A2AError | undefined;
  const limit = createLimit(options);
  for (const url of urls) {
    try {
      const result = await fetchCard(url, options, limit);
      if (result instanceof A2AError) {
        problems.push(result.message);
        if (isUnavailable(result)) away ??= result;
      } else if (isServedAt(result, url, path)) return { card: result, url };
      else problems.push(describeMismatch(result, url, path));
    } catch (error) {
      if (!(error instanceof A2AError) || error.code !== "invalidAgentResponse") throw error;
      cardErrors.push(error);
      problems.push(`${url}: ${error.message}`);
    }
  }
  // An invalid card is more informative than a page that is not a card.
  const worst = cardErrors.find(({ violations }) => violations.length > 0) ?? cardErrors[0];
  throw new CallError(worst?.code ?? "unavailable", `no agent card: ${problems.join("; ")}`, {
    cause: worst,
    violations: worst?.violations,
    // So that the search is repeated for a server that is down, unless it has a card that is wrong.
    ...(worst === undefined && away !== undefined
      ? { metadata: away.metadata, retryAfterMs: away.retryAfterMs }
      : undefined),
  });
}

/**
 * The part of a path before the well-known one: that of the agent. `""` for an origin, and for a card at another path.
 */
function readBasePath(url: string): string {
  const { pathname = "" } = URL.parse(url) ?? {};
  const known = wellKnown.find((each) => pathname.endsWith(each));
  return known === undefined ? "" : pathname.slice(0, -known.length);
}

/**
 * Whether a card belongs to the path that the caller named: it was found there, or lists an interface there or below.
 */
function isServedAt({ supportedInterfaces }: AgentCard, url: string, path: string): boolean {
  if (readBasePath(url) === path) return true;
  return supportedInterfaces.some((each) => `${URL.parse(each.url)?.pathname ?? ""}/`.startsWith(`${path}/`));
}

function describeMismatch({ name }: AgentCard, url: string, path: string): string {
  const agent = JSON.stringify(name.slice(0, 80));
  const { origin } = URL.parse(url) ?? {};
  return `the card at ${url} is of ${agent}, which has no interface at or below ${path}: to call that agent, give ${origin}`;
}

/** Fetches a card, or returns the error of a URL without one. */
async function fetchCard(url: string, options: DiscoveryOptions, limit: SearchLimit): Promise<AgentCard | A2AError> {
  const { cache, maxBytes, readCard, version } = options;
  const name = version === undefined ? url : `${url}#${version}`;
  const entry = cache?.get(name);
  const headers = createHeaders(options);
  if (entry !== undefined) headers["if-none-match"] = entry.etag;
  const failure = (cause: unknown): unknown => limit.failure(url, cause);
  try {
    const response = await options.fetch(url, { headers, signal: limit.signal });
    if (response.ok) {
      const card = await readCard(
        parseAnswer(await readText({ response, failure }, { maxBytes, name: "cardMaxBytes" })),
      );
      const etag = response.headers.get("etag");
      if (etag !== null) cache?.set(name, { card, etag });
      return card;
    }
    await response.body?.cancel();
    const { status, headers: answerHeaders } = response;
    if (status === 304 && entry !== undefined) return entry.card;
    const metadata = { httpStatus: String(status) };
    const error = new CallError("unavailable", `${url} answered with HTTP status ${status}`, { metadata });
    return withAnswerHeaders(error, answerHeaders);
  } catch (cause) {
    throw failure(cause);
  }
}

function createHeaders({ headers, version }: DiscoveryOptions): Record<string, string> {
  const allHeaders = { accept: "application/json", ...headers };
  if (version === undefined) return allHeaders;
  const others = Object.entries(allHeaders).filter(([name]) => name.toLowerCase() !== versionParameter);
  return { ...Object.fromEntries(others), [versionParameter]: version };
}

/** Limits of a search for a card. */
interface SearchLimit {
  readonly signal: AbortSignal;
  failure(url: string, cause: unknown): unknown;
}

function createLimit({ signal, timeoutMs, leftMs = timeoutMs }: DiscoveryOptions): SearchLimit {
  const timeout = AbortSignal.timeout(Math.max(1, Math.ceil(leftMs)));
  return {
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    failure(url, cause) {
      if (cause instanceof A2AError) return cause;
      if (signal?.aborted === true) return signal.reason;
      if (timeout.aborted)
        return new CallError("deadlineExceeded", `no agent card from ${url} within ${timeoutMs} ms`, { cause });
      return fetchFailure({ what: `cannot fetch the agent card from ${url}`, cause, started: true });
    },
  };
}
