// An agent that remembers: it answers with what was said before in the same context, over all tasks and direct replies, and
// counts its answers in the state of the context. `model` stands in for a language model.
import { type ChatMessage, chatMessages, reply, serve } from "trivium";

function model(messages: readonly ChatMessage[]): string {
  const asked = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  const before = asked.slice(0, -1);
  return before.length === 0 ? "I have heard nothing before." : `Before that you said: ${before.join(", ")}.`;
}

const server = await serve({
  card: { name: "Memory", description: "Repeats what was said before", version: "1.0.0" },
  async agent(turn) {
    const messages = await chatMessages(turn, { last: 20 });
    const count = await turn.context.update("answers", (old) => Number(old ?? 0) + 1);
    return reply(`${count}. ${model(messages)}`);
  },
});
console.log(`Memory listens at ${server.url}`);
