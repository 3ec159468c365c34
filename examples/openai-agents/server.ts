// An agent on the OpenAI Agents SDK. It streams the text of a run, remembers its conversations, and stops the run when a
// task is canceled.
import { Agent, assistant, run, setTracingDisabled, user } from "@openai/agents";
import { chatMessages, serve, streamArtifact } from "trivium";
import { model } from "./model.ts";

const pilot = new Agent({ name: "Pilot", instructions: "You are a harbor pilot.", model });
// Traces need an API key.
setTracingDisabled(true);

const server = await serve({
  card: { name: "Pilot", description: "Guides ships into the harbor", version: "1.0.0" },
  async *agent(turn) {
    const messages = await chatMessages(turn, { last: 20 });
    const input = messages.map(({ role, content }) => (role === "user" ? user(content) : assistant(content)));
    const result = await run(pilot, input, { stream: true, signal: turn.signal });
    yield* streamArtifact(result.toTextStream(), { name: "answer" });
    await result.completed;
  },
});
console.log(`Pilot listens at ${server.url}`);
