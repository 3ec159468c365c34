import { TaskState } from "../../protocol/model.js";

// The words of 0.1 and their equivalents in 1.0.

/** The last two states do not exist in 0.1; callers get the closest word. */
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

/** Returns the word of a state, or `unknown` if 0.1 has none. */
export function toStateWord(state: TaskState): string {
  return stateWords.get(state) ?? "unknown";
}

/** Maps a word of 0.1, or a later word that peers use, to the state's name in 1.0's JSON. */
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

/** Returns the media type of a 0.1 mode. Anything but its three words is a media type already. */
export function toMediaType<T>(mode: T): T | string {
  return mediaTypes.get(mode) ?? mode;
}

/** Returns a media type in every form that 0.1 agents may use. */
export function toModes(mediaType: string): string[] {
  const words = [...mediaTypes].filter(([, candidate]) => candidate === mediaType).map(([word]) => String(word));
  return [mediaType, ...words];
}

/** The metadata flag of a data part that represents a file with a name but no content. */
export const fileFlag = "file_part_compat";
