import type { Connection } from "../client/connection.js";
import type { Server } from "../server/serve.js";
import type { GatewayOptions } from "./options.js";

/** A gateway that listens. Closing it also ends its connections to the agent behind. */
export interface Gateway extends Server {
  /** How the agent behind is reached now; `undefined` while none of its interfaces has answered. */
  readonly upstream: Connection | undefined;
}

/**
 * Serves an agent that runs somewhere else: whatever it speaks, callers reach it over every binding and in every version.
 * Rejects when the agent does not answer, and as `serve` does.
 */
export async function gateway(options: GatewayOptions): Promise<Gateway> {
  // Most programs that serve an agent have it with them.
  return (await import("./serve-gateway.js")).serveGateway(options);
}
