import type { AgentOptions, BaseServerOptions, ListenOptions } from "./options.js";

/**
 * One of several agents on a port. Its options override those next to `agents`, with three exceptions: `limits` are
 * merged by name, `interceptors` run inside those of the server, and `rate` applies in addition to that of the server.
 */
export interface ServedAgentOptions
  extends Omit<AgentOptions, "store" | "signals" | "clock" | "trustProxy" | "allowedHosts" | "basePath"> {
  /**
   * Identifies the agent in the store; no two agents may share one. It is stored with every task, so set it before you
   * change the path of an agent. Default: the path without the slash, as `"weather"`.
   */
  readonly agentId?: string | undefined;
  /**
   * Host names of this agent alone: every request to them is for it, and gRPC calls need not name the agent. gRPC
   * reaches an agent with its own authentication only through `hosts` or `grpcPort`; the same holds for gRPC calls in
   * 0.3. Default: none.
   */
  readonly hosts?: readonly string[] | undefined;
  /** A port of its own for gRPC. Default: none, and gRPC shares the server's port. */
  readonly grpcPort?: number | undefined;
}

/**
 * Several agents on one port, with one store and one lifecycle. Options next to `agents` apply to every agent: `auth`,
 * `limits`, `push`, …. `rate` counts the calls of all agents together. `publicUrl` and `basePath` are those of the
 * server; the path of an agent follows them.
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
export function hasOwnAuth({ auth, authenticate, anonymous }: BaseServerOptions): boolean {
  return auth !== undefined || authenticate !== undefined || anonymous !== undefined;
}
