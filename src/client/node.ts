import type { Client as AnyClient, ClientFactory } from "./connect.js";

/**
 * Calls an agent over any of its interfaces: JSON-RPC, HTTP+JSON, gRPC, or Connect. The code is loaded by the first
 * `connect`, since most programs that serve an agent call none.
 */
export const Client: ClientFactory = {
  connect: async (agent, options) => (await import("./node-client.js")).nodeClients.connect(agent, options),
};
export type Client = AnyClient;
