import type { Client as AnyClient, ClientFactory } from "./connect.js";

/**
 * Calls an agent over whichever of its interfaces answers: JSON-RPC, HTTP+JSON, gRPC, or Connect. Its code is loaded with the
 * first `connect`: most programs that serve an agent call none.
 */
export const Client: ClientFactory = {
  connect: async (agent, options) => (await import("./node-client.js")).nodeClients.connect(agent, options),
};
export type Client = AnyClient;
