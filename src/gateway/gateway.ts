import type { Connection } from "../client/connection.js";
import type { Server } from "../server/serve.js";
import type { GatewayOptions } from "./options.js";

/** A listening gateway. Closing it also closes its connections to the upstream agent. */
export interface Gateway extends Server {
  /** How the upstream agent is currently reached; `undefined` until one of its interfaces has answered. */
  readonly upstream: Connection | undefined;
}

/**
 * Serves an agent that runs elsewhere: whatever it speaks, callers reach it over every binding and in every version.
 * Rejects when the agent does not answer, and in the cases where `serve` does.
 */
export async function gateway(options: GatewayOptions): Promise<Gateway> {
  // Most programs that serve an agent run it themselves.
  return (await import("./serve-gateway.js")).serveGateway(options);
}
