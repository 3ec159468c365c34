import { equals } from "@bufbuild/protobuf";
import { type AgentEvent, artifactEvent, statusEvent } from "../protocol/events.js";
import { artifactIndex } from "../protocol/fold.js";
import { ArtifactSchema, Role, type Task, TaskState } from "../protocol/model.js";

/**
 * Returns the events that make the task what an executor has published, given the task as it is: messages of the agent
 * that the history lacks, artifacts that are new or have changed, then the status if it differs.
 */
export function eventsOfTask(published: Task, now: Task): readonly AgentEvent[] {
  const { status, metadata } = published;
  const isKnown = (id: string): boolean =>
    now.status?.message?.messageId === id || now.history.some(({ messageId }) => messageId === id);
  const said = published.history.filter(
    ({ role, messageId }) => role === Role.AGENT && messageId !== status?.message?.messageId && !isKnown(messageId),
  );
  const changed = published.artifacts.filter((artifact) => {
    const known = now.artifacts[artifactIndex(now.artifacts, artifact.artifactId)];
    return known === undefined || !equals(ArtifactSchema, known, artifact);
  });
  const events: AgentEvent[] = [
    ...said.map((message) => statusEvent(TaskState.WORKING, message)),
    ...changed.map((artifact) => artifactEvent(artifact, false, true)),
  ];
  const message = status?.message;
  const state = status?.state ?? TaskState.UNSPECIFIED;
  const isSame = state === now.status?.state && (message === undefined || isKnown(message.messageId));
  const hasMetadata = metadata !== undefined && JSON.stringify(metadata) !== JSON.stringify(now.metadata ?? {});
  if (state === TaskState.UNSPECIFIED || (isSame && !hasMetadata)) return events;
  return [...events, statusEvent(state, message, { metadata: hasMetadata ? metadata : undefined })];
}
