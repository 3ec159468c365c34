// An agent on a chat model of LangChain. It streams the tokens of the model, remembers its conversations, and stops the
// model when a task is canceled.
import { chatMessages, serve, streamArtifact } from "trivium";
import { model } from "./model.ts";

const server = await serve({
  card: { name: "Pilot", description: "Guides ships into the harbor", version: "1.0.0" },
  async *agent(turn) {
    const stream = await model.stream(await chatMessages(turn, { last: 20 }), { signal: turn.signal });
    yield* streamArtifact(tokens(stream), { name: "answer" });
  },
});
console.log(`Pilot listens at ${server.url}`);

async function* tokens(stream: AsyncIterable<{ readonly text: string }>): AsyncGenerator<string> {
  for await (const chunk of stream) yield chunk.text;
}
