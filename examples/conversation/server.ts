// An agent that remembers: it answers with what was said before in the same context, over all tasks and direct replies, and
// counts its answers in the state of the context. `model` takes the place of a language model.
import { reply, serve } from "trivium";

interface Said {
  readonly role: string;
  readonly content: string;
}

function model(messages: readonly Said[]): string {
  const asked = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  const before = asked.slice(0, -1);
  return before.length === 0 ? "I have heard nothing before." : `Before that you said: ${before.join(", ")}.`;
}

const server = await serve({
  card: { name: "Memory", description: "Repeats what was said before", version: "1.0.0" },
  async agent({ text, conversation, context }) {
    // The message of the turn is not part of it yet, so it comes last.
    const entries = await conversation({ last: 20 });
    const messages = [
      ...entries.map((entry) => ({ role: entry.role, content: entry.text })),
      { role: "user", content: text },
    ];
    const count = await context.update("answers", (old) => Number(old ?? 0) + 1);
    return reply(`${count}. ${model(messages)}`);
  },
});
console.log(`Memory listens at ${server.url}`);
