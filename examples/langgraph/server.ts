// A LangGraph agent. When the graph interrupts, the task waits for its caller, and the caller's next message resumes it.
import { Command } from "@langchain/langgraph";
import { inputRequired, serve, streamArtifact } from "trivium";
import { graph } from "./graph.ts";

const server = await serve({
  card: { name: "Clerk", description: "Writes letters to the harbor", version: "1.0.0" },
  async *agent({ text, taskId, signal }) {
    const config = { configurable: { thread_id: taskId }, signal };
    const isAnswer = (await questionOf(config)) !== undefined;
    const stream = await graph.stream(isAnswer ? new Command({ resume: text }) : { order: text }, {
      ...config,
      streamMode: "messages",
    });
    yield* streamArtifact(tokens(stream), { artifactId: "letter", name: "letter" });
    const question = await questionOf(config);
    if (question !== undefined) yield inputRequired(question);
  },
});
console.log(`Clerk listens at ${server.url}`);

type Config = Parameters<typeof graph.getState>[0];

/** The question of the interrupted graph; `undefined` if it does not wait. */
async function questionOf(config: Config): Promise<string | undefined> {
  const { tasks } = await graph.getState(config);
  return tasks.flatMap(({ interrupts }) => interrupts)[0]?.value;
}

async function* tokens(stream: AsyncIterable<[{ readonly text: string }, unknown]>): AsyncGenerator<string> {
  for await (const [message] of stream) yield message.text;
}
