// An agent on the AI SDK. It streams the tokens of its model, remembers its conversations, and stops the model when a
// task is canceled.
import { streamText, type TextStreamPart, type ToolSet } from "ai";
import { chatMessages, serve, streamArtifact } from "trivium";
import { model } from "./model.ts";

const server = await serve({
  card: { name: "Pilot", description: "Guides ships into the harbor", version: "1.0.0" },
  async *agent(turn) {
    const { stream } = streamText({
      model,
      instructions: "You are a harbor pilot.",
      messages: await chatMessages(turn, { last: 20 }),
      abortSignal: turn.signal,
    });
    yield* streamArtifact(tokens(stream), { name: "answer" });
  },
});
console.log(`Pilot listens at ${server.url}`);

/** The model's tokens. An error of the model fails the task: `textStream` would end as if the answer were complete. */
async function* tokens(stream: AsyncIterable<TextStreamPart<ToolSet>>): AsyncGenerator<string> {
  for await (const part of stream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") yield part.text;
  }
}
