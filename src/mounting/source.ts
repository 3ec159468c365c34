import { noop } from "../protocol/async/noop.js";
import { isObject } from "../protocol/kinds.js";
import type { MountedAgent } from "../server/agent.js";

// The agent that an entry of any framework mounts. It may still be under construction.

/**
 * The agent to mount: the promise of `createAgent(…)`, its result, or a function that returns either. The function is
 * called for the first request; its agent is kept, and after a failure the next request calls it again.
 */
export type AgentSource = MountedAgent | PromiseLike<MountedAgent> | (() => MountedAgent | PromiseLike<MountedAgent>);

/**
 * Returns the agent of a source for `entry`, such as `expressAgent()`. All calls share one agent. Throws a `TypeError` for
 * what is no source.
 */
export function createAgentLoader(entry: string, source: AgentSource): () => Promise<MountedAgent> {
  const isLater = typeof source === "function" || (isObject(source) && "then" in source);
  if (!isLater) assertMounted(entry, source);
  let agentPromise: Promise<MountedAgent> | undefined;
  const make = async (): Promise<MountedAgent> => {
    const agent = await (typeof source === "function" ? source() : source);
    assertMounted(entry, agent);
    return agent;
  };
  // A promise that fails before the first request is reported by that request.
  if (typeof source !== "function") make().catch(noop);
  return () => {
    agentPromise ??= make().catch((error: unknown) => {
      agentPromise = undefined;
      throw error;
    });
    return agentPromise;
  };
}

/** The options of an agent are often given in its place. */
function assertMounted(entry: string, agent: unknown): void {
  if (isObject(agent) && "nodeListener" in agent) return;
  const actual = isObject(agent)
    ? `an object with ${Object.keys(agent).slice(0, 3).join(", ") || "nothing"}`
    : String(agent);
  throw new TypeError(`${entry} takes what createAgent() returns, or a function that returns it, not ${actual}`);
}
