import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { createParser } from "eventsource-parser";
import type { Agent } from "trivium";
import { artifact, completed, inputRequired, reply, working } from "../../../src/protocol/events.js";
import { file, text } from "../../../src/protocol/parts.js";
import { type HttpAnswer, httpLine, json } from "../../support/raw-http.js";
import { type ServedAgent, type ServedOptions, startAgent } from "../../support/serve-agent.js";

/** An agent whose behavior the message text selects. */
export const agent: Agent = async function* ({ text: word, message, ask, signal }) {
  if (word === "hello") return yield reply("hi");
  if (word === "echo") return yield reply(message.parts);
  if (word === "fail") throw new Error("secret");
  yield working("on it");
  if (word === "ask") await ask(inputRequired("Which?"));
  if (word === "wait") await new Promise((resolve) => signal.addEventListener("abort", resolve));
  yield artifact([text("K4"), file(new TextEncoder().encode("crew"), { mediaType: "text/plain", filename: "c.txt" })]);
  yield completed();
};

/** An agent's HTTP+JSON interface, called with raw requests. */
export interface Rest extends AsyncDisposable {
  readonly served: ServedAgent;
  ask(call: string, body?: JsonValue | undefined, headers?: Readonly<Record<string, string>>): Promise<RestAnswer>;
}

interface RestAnswer extends HttpAnswer {
  readonly json: JsonObject;
  readonly events: readonly {
    readonly name: string | undefined;
    readonly id: string | undefined;
    readonly data: JsonObject;
  }[];
}

export async function startRest(options: Partial<ServedOptions> = {}): Promise<Rest> {
  const served = await startAgent("HTTP+JSON", { agent, push: { allow: "loopback" }, ...options });
  const line = httpLine(Number(new URL(served.server.url).port));
  return {
    served,
    async ask(call, body, headers = {}) {
      const [method, path] = call.split(" ");
      const text = body === undefined ? undefined : JSON.stringify(body);
      const type = body === undefined ? {} : json;
      const answer = await line.ask({
        method,
        target: `/http-json${path}`,
        headers: { ...type, ...headers },
        body: text,
      });
      return read(answer);
    },
    async [Symbol.asyncDispose]() {
      line[Symbol.dispose]();
      await served[Symbol.asyncDispose]();
    },
  };
}

function read(answer: HttpAnswer): RestAnswer {
  const events: { name: string | undefined; id: string | undefined; data: JsonObject }[] = [];
  if (answer.headers["content-type"]?.startsWith("text/event-stream") === true) {
    createParser({
      onEvent: ({ event, id, data }) => events.push({ name: event, id, data: JSON.parse(data) as JsonObject }),
    }).feed(answer.text);
    return { ...answer, json: {}, events };
  }
  return { ...answer, json: (answer.text === "" ? {} : JSON.parse(answer.text)) as JsonObject, events };
}

/** A message of 0.3's schema in JSON. */
export function messageOf(word: string, more: JsonObject = {}): JsonObject {
  return { messageId: `m-${word}`, role: "ROLE_USER", content: [{ text: word }], ...more };
}
