import type { MountedAgent } from "../server/agent.js";

/**
 * The agent to mount: `createAgent(…)` itself, which is a promise, or what it resolves to. A function is called with the
 * first request; its agent is kept, and after a failure the next request calls it again.
 */
export type AgentSource = MountedAgent | PromiseLike<MountedAgent> | (() => MountedAgent | PromiseLike<MountedAgent>);

/** Returns the agent of a source. All calls share one agent. */
export function agentOf(source: AgentSource): () => Promise<MountedAgent> {
  let made: Promise<MountedAgent> | undefined;
  const make = async (): Promise<MountedAgent> => (typeof source === "function" ? source() : source);
  // A promise that fails before the first request is reported by that request.
  if (typeof source !== "function") make().catch(() => {});
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
