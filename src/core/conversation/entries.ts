import { sizeOfArtifact, sizeOfMessage } from "../../protocol/check/size.js";
import { type Artifact, type Message, Role } from "../../protocol/model.js";
import type { ConversationRecord } from "../ports.js";

/** What an entry is made with, beside its content. */
export interface EntryFacts {
  readonly taskId: string;
  readonly at: number;
  /** Larger content is not copied. */
  readonly maxBytes: number;
}

export function messageEntry(message: Message, { taskId, at, maxBytes }: EntryFacts): ConversationRecord {
  const kind = message.role === Role.AGENT ? "agent" : "user";
  const entry = { kind, id: message.messageId, taskId, at } as const;
  return { ...entry, ...copied(message, sizeOfMessage(message), maxBytes) };
}

export function artifactEntry(artifact: Artifact, { taskId, at, maxBytes }: EntryFacts): ConversationRecord {
  const entry = { kind: "artifact", id: artifact.artifactId, taskId, at } as const;
  return { ...entry, ...copied(artifact, sizeOfArtifact(artifact), maxBytes) };
}

function copied(
  content: Message | Artifact,
  bytes: number,
  maxBytes: number,
): Pick<ConversationRecord, "content" | "bytes"> {
  return bytes > maxBytes ? { content: undefined, bytes: 0 } : { content, bytes };
}
