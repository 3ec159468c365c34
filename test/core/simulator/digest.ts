import type { Part, Task } from "../../../src/protocol/model.js";

/** A task in one line: enough to tell any two positions of its log apart that a caller could tell apart. */
export function digestOf(task: Task): string {
  return `${statusOf(task)}|${task.history.map(({ messageId }) => messageId).join()}|${artifactsOf(task)}`;
}

/** The same without history, for callers who asked for none of it. */
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

/** What was stored is not changed any more: whoever tries fails. */
export function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const each of Object.values(value)) freeze(each);
}
