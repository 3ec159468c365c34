import type { GatewayOptions } from "./options.js";
import type { Gateway } from "./serve-gateway.js";

// The gateway serves a remote agent as if it were an agent of this process: its handler is a client.

/**
 * Serves a remote agent over every binding and in every supported protocol version, whichever the agent itself
 * supports. Rejects if the agent does not answer, and in the same cases as `serve`.
 *
 * @example
 * ```ts
 * const server = await gateway({
 *   upstream: "https://agent.example",
 *   forward: ["authorization"],
 *   anonymous: "shared",
 * });
 * console.log(`${server.card.name} is served at ${server.url}`);
 * ```
 */
export async function gateway(options: GatewayOptions): Promise<Gateway> {
  // Most programs that serve an agent run it themselves.
  return (await import("./serve-gateway.js")).serveGateway(options);
}
