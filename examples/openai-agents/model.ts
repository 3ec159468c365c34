// Stands in for an OpenAI model, such as `model: "gpt-5.2"`. It repeats what the user said, one word at a time. Asked to
// count, it counts until it is stopped; asked to break, it fails.
import { setTimeout as sleep } from "node:timers/promises";
import type { Model, ModelRequest } from "@openai/agents";

export const model: Model = {
  getResponse: () => Promise.reject(new Error("this model only streams")),
  async *getStreamedResponse({ input, signal }) {
    signal?.addEventListener("abort", () => console.log(`the model was stopped: ${signal.reason}`));
    yield { type: "response_started" };
    let text = "";
    for (const delta of wordsFor(textsIn(input))) {
      await sleep(10, undefined, signal && { signal });
      if (delta === "break") throw new Error("the model is overloaded");
      text += delta;
      yield { type: "output_text_delta", delta };
    }
    const content = [{ type: "output_text" as const, text }];
    const usage = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    const output = [{ type: "message" as const, role: "assistant" as const, status: "completed" as const, content }];
    yield { type: "response_done", response: { id: "1", usage, output } };
  },
};

/** What the user said. */
function textsIn(input: ModelRequest["input"]): string[] {
  if (typeof input === "string") return [input];
  const contents = input.flatMap((item) => ("role" in item && item.role === "user" ? [item.content] : []));
  return contents.flatMap((content) => {
    if (typeof content === "string") return [content];
    return content.flatMap((part) => (part.type === "input_text" ? part.text : []));
  });
}

function* wordsFor(texts: readonly string[]): Generator<string> {
  yield* `You said: ${texts
    .slice(0, -1)
    .map((text) => `${text}, then `)
    .join("")}`.split(/(?<= )/);
  const last = texts.at(-1) ?? "";
  yield* last.split(/(?<= )/);
  for (let count = 1; last.startsWith("count"); count++) yield ` ${count}`;
}
