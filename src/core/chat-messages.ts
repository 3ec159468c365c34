import { createNameCheck } from "../protocol/check/rules.js";
import type { Turn } from "./agent.js";
import type { ConversationPage } from "./conversation-view.js";

/**
 * A message as the APIs of language models take it. `content` is never empty. A type instead of an interface, so that
 * it is assignable to a record, as in LangChain.
 */
export type ChatMessage = {
  /** Whose message it is. */
  readonly role: "user" | "assistant";
  /** Never empty. */
  readonly content: string;
};

const checkOptions = createNameCheck<Pick<ConversationPage, "last">>("chatMessages()", { last: true });

/**
 * Returns the conversation as input for a language model: the entries of the turn's context, oldest first, then the
 * message that the turn answers. Messages and artifacts of the agent have the role `assistant`. Only text is included:
 * read `turn.conversation` for data and files. `last` is the number of entries to read, from 1 to 1,000; default: 50.
 * Rejects as `turn.conversation` does.
 *
 * @example
 * ```ts
 * const agent: Agent = async function* (turn) {
 *   const messages = await chatMessages(turn, { last: 20 });
 *   yield* streamArtifact(model.stream(messages, { signal: turn.signal }));
 * };
 * ```
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
