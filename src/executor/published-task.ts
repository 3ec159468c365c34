import { equals } from "@bufbuild/protobuf";
import { type AgentEvent, artifactEvent, statusEvent } from "../protocol/events.js";
import { artifactIndex } from "../protocol/fold.js";
import { ArtifactSchema, Role, type Task, TaskState } from "../protocol/model.js";

/**
 * Returns the events that change the current task to the published one: messages of the agent that the history lacks,
 * artifacts that are new or have changed, then the status if it differs.
 */
export function eventsOfTask(published: Task, current: Task): readonly AgentEvent[] {
  const { status, metadata } = published;
  const isKnown = (id: string): boolean =>
    current.status?.message?.messageId === id || current.history.some(({ messageId }) => messageId === id);
  const newMessages = published.history.filter(
    ({ role, messageId }) => role === Role.AGENT && messageId !== status?.message?.messageId && !isKnown(messageId),
  );
  const newArtifacts = published.artifacts.filter((artifact) => {
    const artifactNow = current.artifacts[artifactIndex(current.artifacts, artifact.artifactId)];
    return artifactNow === undefined || !equals(ArtifactSchema, artifactNow, artifact);
  });
  const events: AgentEvent[] = [
    ...newMessages.map((message) => statusEvent(TaskState.WORKING, message)),
    ...newArtifacts.map((artifact) => artifactEvent(artifact, false, true)),
  ];
  const message = status?.message;
  const state = status?.state ?? TaskState.UNSPECIFIED;
  const isSame = state === current.status?.state && (message === undefined || isKnown(message.messageId));
  const hasMetadata = metadata !== undefined && JSON.stringify(metadata) !== JSON.stringify(current.metadata ?? {});
  if (state === TaskState.UNSPECIFIED || (isSame && !hasMetadata)) return events;
  return [...events, statusEvent(state, message, { metadata: hasMetadata ? metadata : undefined })];
}
