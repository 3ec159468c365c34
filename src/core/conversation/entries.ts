import { sizeOfArtifact, sizeOfMessage } from "../../protocol/check/size.js";
import { type Artifact, type Message, Role } from "../../protocol/model.js";
import type { ConversationRecord } from "../ports.js";

/** Facts about an entry besides its content. */
export interface EntryFacts {
  readonly taskId: string;
  readonly at: number;
  /** Larger content is not copied. */
  readonly maxBytes: number;
}

export function messageEntry(message: Message, facts: EntryFacts, size = sizeOfMessage(message)): ConversationRecord {
  const kind = message.role === Role.AGENT ? "agent" : "user";
  return createEntry({ kind, id: message.messageId, content: message, size }, facts);
}

export function artifactEntry(artifact: Artifact, facts: EntryFacts): ConversationRecord {
  return createEntry(
    { kind: "artifact", id: artifact.artifactId, content: artifact, size: sizeOfArtifact(artifact) },
    facts,
  );
}

interface EntryContent extends Pick<ConversationRecord, "kind" | "id"> {
  readonly content: Message | Artifact;
  readonly size: number;
}

function createEntry(
  { kind, id, content, size }: EntryContent,
  { taskId, at, maxBytes }: EntryFacts,
): ConversationRecord {
  const isCopied = size <= maxBytes;
  return { kind, id, taskId, at, content: isCopied ? content : undefined, bytes: isCopied ? size : 0 };
}
