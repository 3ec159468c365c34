// Stands in for a language model, such as `openai("gpt-5.2")` of `@ai-sdk/openai`. It repeats what the user said, one
// word at a time. Asked to count, it counts until it is stopped; asked to break, it fails.
import { setTimeout as sleep } from "node:timers/promises";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";

type StreamPart =
  Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer Part> ? Part : never;

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

/** First calls the tool `tide`, then says what the tool returned. */
export const modelWithTools = new MockLanguageModelV4({
  async doStream({ prompt }) {
    const results = prompt.flatMap(({ role, content }) => (role === "tool" ? content : []));
    return { stream: convertArrayToReadableStream(results.length === 0 ? calling : saying(JSON.stringify(results))) };
  },
});

const calling: StreamPart[] = [
  { type: "tool-call", toolCallId: "1", toolName: "tide", input: '{"harbor":"Emden"}' },
  { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage },
];

const saying = (results: string): StreamPart[] => [
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "High water is at " },
  { type: "text-delta", id: "1", delta: `${/\d\d:\d\d/.exec(results)}.` },
  { type: "text-end", id: "1" },
  { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
];
