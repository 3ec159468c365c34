import type { Part, Task } from "../../../src/protocol/model.js";

/** A task in one line that differs for any two log positions a caller could distinguish. */
export function digestOf(task: Task): string {
  return `${statusOf(task)}|${task.history.map(({ messageId }) => messageId).join()}|${artifactsOf(task)}`;
}

/** The same without history, for callers that asked for none. */
export function shortDigestOf(task: Task): string {
  return `${statusOf(task)}|${artifactsOf(task)}`;
}

/** The first part of a digest. */
export function statusOf({ status }: Task): string {
  const { timestamp } = status ?? {};
  return `${status?.state}@${timestamp?.seconds}.${timestamp?.nanos}:${status?.message?.messageId}`;
}

function artifactsOf({ artifacts }: Task): string {
  return artifacts.map(({ artifactId, parts }) => `${artifactId}=${parts.map(textOf).join("+")}`).join();
}

function textOf({ content }: Part): string {
  return content.case === "text" ? content.value : `${content.case}`;
}

/** Freezes what was stored, so that a later change throws. */
export function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const each of Object.values(value)) freeze(each);
}
