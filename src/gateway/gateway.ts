import type { GatewayOptions } from "./options.js";
import type { Gateway } from "./serve-gateway.js";

/**
 * Serves an agent that runs elsewhere: whatever it speaks, callers reach it over every binding and in every version.
 * Rejects when the agent does not answer, and in the cases where `serve` does.
 */
export async function gateway(options: GatewayOptions): Promise<Gateway> {
  // Most programs that serve an agent run it themselves.
  return (await import("./serve-gateway.js")).serveGateway(options);
}
