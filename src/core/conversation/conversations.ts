import { DirectReplies, type DirectReplyDeps } from "./direct-replies.js";
import { ConversationLog, type ConversationOptions } from "./log.js";

/** An agent's memory of its contexts: the log of conversations, and the replies that no task records. */
export interface Conversations {
  readonly log: ConversationLog;
  readonly replies: DirectReplies;
}

/** Opens the conversations of an agent; `undefined` when they are off. */
export function openConversations(
  deps: DirectReplyDeps,
  options: ConversationOptions | false | undefined,
): Conversations | undefined {
  if (options === false) return undefined;
  const log = new ConversationLog(deps, options ?? {});
  return { log, replies: new DirectReplies(log, deps) };
}
