// An agent on the AI SDK whose model calls a tool. Callers see the call as progress, and its result as an artifact.
import { jsonSchema, stepCountIs, streamText, type TextStreamPart, type ToolSet, tool } from "ai";
import { type AgentEvent, artifact, chatMessages, data, serve, streamArtifact, working } from "trivium";
import { modelWithTools } from "./model.ts";

const tools = {
  tide: tool({
    description: "Looks up the next high water of a harbor",
    inputSchema: jsonSchema<{ harbor: string }>({ type: "object", properties: { harbor: { type: "string" } } }),
    execute: async ({ harbor }) => ({ harbor, high: "16:58" }),
  }),
};

const server = await serve({
  card: { name: "Pilot", description: "Looks up tides", version: "1.0.0" },
  async *agent(turn) {
    const { stream } = streamText({
      model: modelWithTools,
      tools,
      stopWhen: stepCountIs(5),
      messages: await chatMessages(turn, { last: 20 }),
      abortSignal: turn.signal,
    });
    yield* streamArtifact(tokens(stream), { name: "answer" });
  },
});
console.log(`Pilot listens at ${server.url}`);

async function* tokens(stream: AsyncIterable<TextStreamPart<ToolSet>>): AsyncGenerator<string | AgentEvent> {
  for await (const part of stream) {
    if (part.type === "error") throw part.error;
    if (part.type === "tool-call") yield working(`calling ${part.toolName}`);
    if (part.type === "tool-result") yield artifact(data(part.output), { name: part.toolName });
    if (part.type === "text-delta") yield part.text;
  }
}
