import { TaskState } from "../../protocol/model.js";

// The words of 0.1 beside those of 1.0.

/** 1.0 has two states more; a caller of 0.1 learns what they come to for it. */
const stateWords: ReadonlyMap<TaskState, string> = new Map([
  [TaskState.SUBMITTED, "submitted"],
  [TaskState.WORKING, "working"],
  [TaskState.COMPLETED, "completed"],
  [TaskState.FAILED, "failed"],
  [TaskState.CANCELED, "canceled"],
  [TaskState.INPUT_REQUIRED, "input-required"],
  [TaskState.REJECTED, "failed"],
  [TaskState.AUTH_REQUIRED, "input-required"],
]);

/** The word of a state; `unknown` for what 0.1 cannot say. */
export function wordOfState(state: TaskState): string {
  return stateWords.get(state) ?? "unknown";
}

/** The name in 1.0's JSON for a word of 0.1, or for one of the later words that peers mix in. */
export const stateNames: ReadonlyMap<unknown, string> = new Map([
  ["submitted", "TASK_STATE_SUBMITTED"],
  ["working", "TASK_STATE_WORKING"],
  ["completed", "TASK_STATE_COMPLETED"],
  ["failed", "TASK_STATE_FAILED"],
  ["canceled", "TASK_STATE_CANCELED"],
  ["cancelled", "TASK_STATE_CANCELED"],
  ["input-required", "TASK_STATE_INPUT_REQUIRED"],
  ["rejected", "TASK_STATE_REJECTED"],
  ["auth-required", "TASK_STATE_AUTH_REQUIRED"],
]);

/** Role of 0.1 → its name in 1.0's JSON. */
export const roleNames: ReadonlyMap<unknown, string> = new Map([
  ["user", "ROLE_USER"],
  ["agent", "ROLE_AGENT"],
]);

const mediaTypes: ReadonlyMap<unknown, string> = new Map([
  ["text", "text/plain"],
  ["data", "application/json"],
  ["file", "application/octet-stream"],
]);

/** The media type that a mode of 0.1 stands for; what is none of its three words is one already. */
export function mediaTypeOfMode<T>(mode: T): T | string {
  return mediaTypes.get(mode) ?? mode;
}

/** A media type in all the ways that agents of 0.1 may know it by. */
export function modesOfMediaType(mediaType: string): string[] {
  const words = [...mediaTypes].filter(([, known]) => known === mediaType).map(([word]) => String(word));
  return [mediaType, ...words];
}

/** The metadata flag of a data part that stands for a file of which only the name is told. */
export const fileFlag = "file_part_compat";
