import { type Agent, type Client as AnyClient, Client, serve } from "trivium";
import { connectTo } from "../../../src/testing/index.js";

/** How a client reaches its agent. */
export const ways = ["JSONRPC", "GRPC", "in process"] as const;
export type Way = (typeof ways)[number];

export interface Served extends AsyncDisposable {
  readonly client: AnyClient;
  /** Origin of the server; empty in process. */
  readonly url: string;
}

/** Serves an agent and connects a client to it. */
export async function served(way: Way, agent: Agent): Promise<Served> {
  if (way === "in process") {
    const client = await connectTo(agent);
    return { client, url: "", [Symbol.asyncDispose]: () => client.close() };
  }
  const card = { name: "Answers", description: "Answers as the test says", version: "1" };
  const server = await serve({ card, port: 0, drainMs: 0, bindings: ["JSONRPC", "GRPC"], agent });
  const client = await Client.connect(server.url, { prefer: [way] });
  return {
    client,
    url: server.url,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}
