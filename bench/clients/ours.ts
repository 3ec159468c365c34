/** Our client as its users have it: `Client.connect` with its defaults, from the built package. */
import { loadTrivium } from "../built.ts";
import { serveWork } from "../control.ts";
import { argsOf, streamLength, type Wire, workOf } from "./work.ts";

const { Client } = await loadTrivium();
const bindings: Record<Wire, string> = {
  "json-rpc": "JSONRPC",
  "http-json": "HTTP+JSON",
  grpc: "GRPC",
  sse: "JSONRPC",
  "grpc-stream": "GRPC",
};

const { wire, http } = argsOf();
const client = await Client.connect(http, { prefer: [bindings[wire]] });

const message = async (): Promise<string> => (await client.send("message")).text;

const stream = async (): Promise<readonly string[]> => {
  const chunks: string[] = [];
  for await (const event of client.stream(`stream ${streamLength}`)) {
    if (event.type === "artifact") chunks.push(event.delta);
  }
  return chunks;
};

serveWork(workOf({ message, stream }, wire));
