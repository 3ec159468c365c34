import type { Client as AnyClient, ClientFactory } from "./connect.js";

/**
 * Calls an agent over any of its interfaces: JSON-RPC, HTTP+JSON, gRPC, or Connect. The code is loaded by the first
 * `connect`, since most programs that serve an agent call none.
 *
 * @example
 * ```ts
 * await using client = await Client.connect("https://agent.example");
 * const answer = await client.send("What is the weather in Oslo?");
 * console.log(answer.text);
 * ```
 */
export const Client: ClientFactory = {
  connect: async (agent, options) => (await import("./node-client.js")).nodeClients.connect(agent, options),
};
export type Client = AnyClient;
