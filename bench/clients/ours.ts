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

const message = async (): Promise<string> => {
  const answer = await client.send("message");
  const content = answer.$typeName === "lf.a2a.v1.Message" ? answer.parts[0]?.content : undefined;
  return content?.case === "text" ? content.value : "";
};

const stream = async (): Promise<readonly string[]> => {
  const chunks: string[] = [];
  for await (const { response } of client.stream(`stream ${streamLength}`)) {
    if (response.payload.case !== "artifactUpdate") continue;
    const content = response.payload.value.artifact?.parts[0]?.content;
    chunks.push(content?.case === "text" ? content.value : "");
  }
  return chunks;
};

serveWork(workOf({ message, stream }, wire));
