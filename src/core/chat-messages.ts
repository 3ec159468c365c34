import { createNameCheck } from "../protocol/check/rules.js";
import type { Turn } from "./agent.js";
import type { ConversationPage } from "./conversation-view.js";

/**
 * A message in the form that the APIs of language models take: whose it is, and its text, which is never empty. A type and
 * not an interface, so that it also fits where a record is wanted, as in LangChain.
 */
export type ChatMessage = {
  /** Whose message it is. */
  readonly role: "user" | "assistant";
  /** Never empty. */
  readonly content: string;
};

const checkOptions = createNameCheck<Pick<ConversationPage, "last">>("chatMessages()", { last: true });

/**
 * Returns the input for a language model: what was said in the turn's context, oldest first, and the message that the
 * turn answers as the last one. The agent's messages and artifacts are those of the `assistant`. It takes the text
 * alone, and leaves out what has none: read `turn.conversation` for data and files. `last` is how many entries of the
 * conversation it reads, from 1 to 1,000; default: 50. Rejects as `turn.conversation` does.
 */
export async function chatMessages(
  turn: Pick<Turn, "conversation" | "text">,
  options: Pick<ConversationPage, "last"> = {},
): Promise<ChatMessage[]> {
  checkOptions(options);
  const { last } = options;
  // Read first: the turn may take another message meanwhile.
  const { text } = turn;
  const messages: ChatMessage[] = [];
  for (const entry of await turn.conversation({ last })) {
    const role = entry.role === "agent" ? "assistant" : "user";
    if (entry.text !== "") messages.push({ role, content: entry.text });
  }
  if (text !== "") messages.push({ role: "user", content: text });
  return messages;
}
