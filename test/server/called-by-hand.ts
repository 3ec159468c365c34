import type { JsonValue } from "@bufbuild/protobuf";
import { type Agent, artifact, inputRequired, reply, working } from "trivium";
import { frame } from "../support/grpc-raw.js";
import { type HttpAnswer, httpLine, json } from "../support/raw-http.js";
import { type ServedAgent, type ServedOptions, startAgent } from "../support/serve-agent.js";

/** An agent that obeys its message. */
export const agent: Agent = async function* ({ text, task }) {
  if (text === "reply") return yield reply("pong");
  yield working();
  yield artifact("done", { artifactId: "x" });
  if (text === "ask" && task === undefined) yield inputRequired("more?");
};

/** An agent that tests call with plain HTTP. */
export interface Called extends AsyncDisposable {
  readonly served: ServedAgent;
  ask(target: string, body: JsonValue | undefined, headers?: Readonly<Record<string, string>>): Promise<HttpAnswer>;
}

/** Serves it in every version. */
export async function called(options: Partial<ServedOptions> = {}): Promise<Called> {
  const served = await startAgent("JSONRPC", { agent, push: { allow: "loopback" }, ...options });
  const line = httpLine(served.server.port);
  return {
    served,
    ask(target, body, headers = {}) {
      if (body === undefined) return line.ask({ method: "GET", target, headers });
      return line.ask({ target, headers: { ...json, ...headers }, body: JSON.stringify(body) });
    },
    async [Symbol.asyncDispose]() {
      line[Symbol.dispose]();
      await served[Symbol.asyncDispose]();
    },
  };
}

/** A message of 1.0. */
export const newMessage = (text: string) => ({ messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] });
/** A message of 0.3 and 0.2 over JSON-RPC. */
export const kindMessage = (text: string) => ({
  kind: "message",
  messageId: crypto.randomUUID(),
  role: "user",
  parts: [{ kind: "text", text }],
});
/** A message of 0.1. */
export const typeMessage = (text: string) => ({ role: "user", parts: [{ type: "text", text }] });
/** A message of 0.3's schema. */
export const contentMessage = (text: string) => ({
  messageId: crypto.randomUUID(),
  role: "ROLE_USER",
  content: [{ text }],
});

/** A gRPC frame with a message of one text field. */
export function fieldFrame(field: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  return frame(Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes]));
}
