import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Agent } from "trivium";
import { expect } from "vitest";
import { artifact, completed, inputRequired, reply, working } from "../../../src/protocol/events.js";
import { type HttpAnswer, httpLine, json } from "../../support/raw-http.js";
import { type ServedAgent, type ServedOptions, startAgent } from "../../support/serve-agent.js";

const agent: Agent = async function* ({ text, ask }) {
  if (text === "hello") return yield reply("hi");
  if (text === "fail") throw new Error("secret");
  yield working();
  if (text === "ask") await ask(inputRequired("Which?"));
  yield artifact("K4");
  yield completed();
};

/** A served agent, called in 0.3 with raw requests. */
export interface Rpc extends AsyncDisposable {
  readonly served: ServedAgent;
  /** Posts a body unchanged. */
  post(body: string, headers?: Readonly<Record<string, string>>): Promise<HttpAnswer>;
  /** Returns the reply of a method, a single JSON object. */
  call(method: string, params?: JsonValue, headers?: Readonly<Record<string, string>>): Promise<JsonObject>;
  /** Returns the results or errors of a streaming method. */
  stream(method: string, params: JsonValue, headers?: Readonly<Record<string, string>>): Promise<JsonObject[]>;
}

/** Serves an agent in all versions. */
export async function startRpc(options: Partial<ServedOptions> = {}): Promise<Rpc> {
  const served = await startAgent("JSONRPC", { agent, ...options });
  const line = httpLine(Number(new URL(served.server.url).port));
  const post: Rpc["post"] = (body, headers = json) => line.ask({ target: "/json-rpc", headers, body });
  const bodyOf = (method: string, params: JsonValue | undefined): string =>
    JSON.stringify({ jsonrpc: "2.0", id: "q", method, params });
  return {
    served,
    post,
    async call(method, params, headers = {}) {
      const answer = await post(bodyOf(method, params), { ...json, ...headers });
      expect(answer.headers["content-type"]).toMatch(/^application\/json/);
      return JSON.parse(answer.text) as JsonObject;
    },
    async stream(method, params, headers = { ...json, Accept: "text/event-stream" }) {
      const answer = await post(bodyOf(method, params), headers);
      expect(answer).toMatchObject({ status: 200 });
      expect(answer.headers["content-type"]).toMatch(/^text\/event-stream/);
      return eventsOf(answer.text);
    },
    async [Symbol.asyncDispose]() {
      line[Symbol.dispose]();
      await served[Symbol.asyncDispose]();
    },
  };
}

/** Returns the results or errors in an event stream. */
export function eventsOf(text: string): JsonObject[] {
  const lines = text.split("\n").filter((line) => line.startsWith("data: "));
  return lines.map((line) => {
    const event = JSON.parse(line.slice("data: ".length)) as JsonObject;
    expect(event).toMatchObject({ jsonrpc: "2.0", id: "q" });
    return (event["result"] ?? { error: event["error"] }) as JsonObject;
  });
}

/** A user message. */
export const messageOf = (text: string, more: JsonObject = {}): JsonObject => ({
  kind: "message",
  messageId: crypto.randomUUID(),
  role: "user",
  parts: [{ kind: "text", text }],
  ...more,
});

/** Returns the task in a reply. */
export const taskOf = (answer: JsonObject): { id: string; contextId: string } =>
  answer["result"] as { id: string; contextId: string };
