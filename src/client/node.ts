import type { Client as AnyClient, ClientFactory } from "./connect.js";

/**
 * A client for Node: calls an agent over JSON-RPC, HTTP+JSON, gRPC or Connect. The first `connect` loads its code.
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
