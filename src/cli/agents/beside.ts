import type { ConnectOptions } from "../../client/options.js";
import { trimmed } from "../../protocol/http-rules.js";
import { listedCards } from "./listed-agents.js";

const timeoutMs = 2000;

/**
 * The URLs of the agents that are listed below a URL, below the path above it, or for the whole origin. Empty if none of them
 * has a list.
 */
export async function agentsBeside(url: string, options: ConnectOptions): Promise<readonly string[]> {
  const { origin, pathname } = new URL(url);
  const path = trimmed(pathname.replace(/\/\.well-known\/.*$/, ""));
  for (const below of new Set([path, path.replace(/\/[^/]*$/, ""), ""])) {
    const agents = await agentsAt(`${origin}${below}`, options);
    if (agents.length > 0) return agents;
  }
  return [];
}

async function agentsAt(server: string, { headers = {}, tls, signal }: ConnectOptions): Promise<readonly string[]> {
  try {
    const call = { headers, tls, timeoutMs, signal: signal ?? new AbortController().signal };
    const cards = await listedCards(server, call);
    return cards.map((card) => card.replace(/\/\.well-known\/[^/]*$/, ""));
  } catch {
    return [];
  }
}
