import { parseAnswer, readText } from "../binding/fetch/answer.js";
import type { ClientTls } from "../binding/fetch/client-tls.js";
import { fetchFailure } from "../binding/fetch/failure.js";
import { createNodeFetch } from "../binding/fetch/node-fetch.js";
import type { ConnectOptions } from "../client/options.js";
import { isJsonObject } from "../protocol/codec/outline/dynamic.js";
import { A2AError } from "../protocol/errors.js";
import { trimSlashes } from "../protocol/http-routes.js";

// A server with `catalogue: true` lists its agents. `card --all` prints them; a command that finds no agent at a URL names them.

const path = "/.well-known/agents";
const maxBytes = 1 << 20;

/** Settings of the request for the list. */
export interface ListCall {
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly tls?: ClientTls | undefined;
  readonly signal: AbortSignal;
}

/** Reads the URLs of the cards that a server lists. Throws `unavailable` for a server without a list. */
export async function readCardUrls(server: string, call: ListCall): Promise<readonly string[]> {
  const url = `${trimSlashes(server)}${path}`;
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(call.timeoutMs)]);
  const failure = (cause: unknown): unknown => fetchFailure({ what: url, cause, started: true });
  const fetch = createNodeFetch({ tls: call.tls });
  try {
    const response = await fetch(url, { headers: { ...call.headers, accept: "application/json" }, signal });
    const text = await readText({ response, failure }, { maxBytes });
    if (response.ok) return cardsIn(parseAnswer(text), url);
    const hint = response.status === 404 ? ": a server lists its agents with `catalogue: true`" : "";
    throw new A2AError("unavailable", `${url} answered with HTTP status ${response.status}${hint}`);
  } catch (error) {
    throw error instanceof A2AError ? error : failure(error);
  } finally {
    await fetch.close();
  }
}

function cardsIn(json: ReturnType<typeof parseAnswer>, url: string): readonly string[] {
  const agents = isJsonObject(json) ? json["agents"] : undefined;
  if (!Array.isArray(agents)) throw new A2AError("invalidAgentResponse", `${url} answered with no list of agents`);
  const cards = agents.flatMap((agent) =>
    isJsonObject(agent) && typeof agent["card"] === "string" ? agent["card"] : [],
  );
  if (!cards.every((card) => URL.canParse(card))) {
    throw new A2AError("invalidAgentResponse", `${url} lists a card that is not an absolute URL`);
  }
  return cards;
}

/** Time limit of each request, in milliseconds: the list only completes an error. */
const siblingsTimeoutMs = 2000;

/** The URLs of the agents that are listed below a URL, below its parent path, or at its origin. Empty if there is no list. */
export async function findSiblingAgents(url: string, options: ConnectOptions): Promise<readonly string[]> {
  const { origin, pathname } = new URL(url);
  const path = trimSlashes(pathname.replace(/\/\.well-known\/.*$/, ""));
  for (const base of new Set([path, path.replace(/\/[^/]*$/, ""), ""])) {
    const agents = await agentsAt(`${origin}${base}`, options);
    if (agents.length > 0) return agents;
  }
  return [];
}

async function agentsAt(server: string, { headers = {}, tls, signal }: ConnectOptions): Promise<readonly string[]> {
  try {
    const call = { headers, tls, timeoutMs: siblingsTimeoutMs, signal: signal ?? new AbortController().signal };
    const cards = await readCardUrls(server, call);
    return cards.map((card) => card.replace(/\/\.well-known\/[^/]*$/, ""));
  } catch {
    return [];
  }
}
