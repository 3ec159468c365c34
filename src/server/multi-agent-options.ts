import type { AgentOptions, HostOptions, ListenOptions } from "./options.js";

/**
 * One of several agents on a port. Options here hold for this agent, instead of those beside `agents`; `limits` are merged
 * by name, `interceptors` run inside those of all agents, and limits of `rate` hold besides those of the server.
 */
export interface ServedAgentOptions
  extends Omit<AgentOptions, "store" | "signals" | "clock" | "trustProxy" | "allowedHosts" | "basePath"> {
  /**
   * Distinguishes the agent in the store; two agents may not have the same. It is stored with every task, so give it
   * before you change the path of an agent. Default: the path without the slash, as `"weather"`.
   */
  readonly agentId?: string | undefined;
  /**
   * Host names that are the agent's alone: every request there is for it, and gRPC needs no name of it. An agent with an
   * authentication of its own is reached over gRPC by this or `grpcPort`, and so are callers of 0.3. Default: none.
   */
  readonly hosts?: readonly string[] | undefined;
  /** A port of its own for gRPC. Default: none, and gRPC shares the server's port. */
  readonly grpcPort?: number | undefined;
}

/**
 * Several agents on one port, with one store and one lifecycle. Options beside `agents` hold for all: `auth`, `limits`,
 * `push`, …; `rate` counts the calls of all agents together; and `publicUrl` and `basePath` are those of the server, below which each agent has its path.
 */
export interface ServeAgentsOptions extends Omit<AgentOptions, "card" | "agent" | "agentId">, ListenOptions {
  /** The agents by their paths, each of one segment: `/weather`. `"/"` is the agent at the root. */
  readonly agents: Readonly<Record<string, ServedAgentOptions>>;
  /**
   * Lists the agents at `/.well-known/agents`, as JSON and as a page. Agents that require a sign-in are listed only for
   * callers that have one. Default: false.
   */
  readonly catalogue?: boolean | undefined;
}

/** Whether an agent says by itself who may call it. */
export function hasOwnAuth({ auth, authenticate, anonymous }: HostOptions): boolean {
  return auth !== undefined || authenticate !== undefined || anonymous !== undefined;
}
