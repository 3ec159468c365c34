// Takes the place of a language model, such as `openai("gpt-5.2")` of `@ai-sdk/openai`. It repeats what the user said, one
// word at a time. Asked to count it counts until it is stopped, and asked to break it breaks.
import { setTimeout as sleep } from "node:timers/promises";
import { MockLanguageModelV4 } from "ai/test";

export const model = new MockLanguageModelV4({
  async doStream({ prompt, abortSignal }) {
    abortSignal?.addEventListener("abort", () => console.log(`the model was stopped: ${abortSignal.reason}`));
    const said = prompt.flatMap(({ role, content }) => (role === "user" ? content : []));
    const texts = said.flatMap((part) => (part.type === "text" ? part.text : []));
    const words = wordsFor(texts);
    return {
      stream: new ReadableStream({
        start: (controller) => controller.enqueue({ type: "text-start", id: "1" }),
        async pull(controller) {
          await sleep(10);
          const { value } = words.next();
          if (value === "break") {
            controller.enqueue({ type: "error", error: new Error("the model is overloaded") });
            controller.close();
          } else if (value !== undefined) {
            controller.enqueue({ type: "text-delta", id: "1", delta: value });
          } else {
            controller.enqueue({ type: "text-end", id: "1" });
            controller.enqueue({ type: "finish", finishReason: { unified: "stop", raw: undefined }, usage });
            controller.close();
          }
        },
      }),
    };
  },
});

function* wordsFor(texts: readonly string[]): Generator<string> {
  yield* `You said: ${texts
    .slice(0, -1)
    .map((text) => `${text}, then `)
    .join("")}`.split(/(?<= )/);
  const last = texts.at(-1) ?? "";
  yield* last.split(/(?<= )/);
  for (let count = 1; last.startsWith("count"); count++) yield ` ${count}`;
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
