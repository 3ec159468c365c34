import type { ConnectOptions } from "../../client/options.js";
import { trimSlashes } from "../../protocol/http-rules.js";
import { readCardUrls } from "./listed-agents.js";

const timeoutMs = 2000;

/** The URLs of the agents that are listed below a URL, below its parent path, or at its origin. Empty if there is no list. */
export async function agentsBeside(url: string, options: ConnectOptions): Promise<readonly string[]> {
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
    const call = { headers, tls, timeoutMs, signal: signal ?? new AbortController().signal };
    const cards = await readCardUrls(server, call);
    return cards.map((card) => card.replace(/\/\.well-known\/[^/]*$/, ""));
  } catch {
    return [];
  }
}
