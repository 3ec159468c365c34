import { Role, TaskState } from "../../../protocol/model.js";

// The words of kind-JSON for the model's enums.

const states = [
  ["submitted", TaskState.SUBMITTED],
  ["working", TaskState.WORKING],
  ["input-required", TaskState.INPUT_REQUIRED],
  ["completed", TaskState.COMPLETED],
  ["canceled", TaskState.CANCELED],
  ["failed", TaskState.FAILED],
  ["rejected", TaskState.REJECTED],
  ["auth-required", TaskState.AUTH_REQUIRED],
  ["unknown", TaskState.UNSPECIFIED],
] as const satisfies readonly (readonly [word: string, state: TaskState])[];

/** A state in the spelling of kind-JSON. */
export type StateWord = (typeof states)[number][0];

const stateWords: ReadonlyMap<TaskState, StateWord> = new Map(states.map(([word, state]) => [state, word]));
const statesByWord: ReadonlyMap<unknown, TaskState> = new Map<unknown, TaskState>([
  ...states,
  // A spelling that some handwritten old peers use.
  ["cancelled", TaskState.CANCELED],
]);

/** Returns the word of a state, or `unknown` if these versions have none. */
export function toStateWord(state: TaskState): StateWord {
  return stateWords.get(state) ?? "unknown";
}

/** Returns the state of a word, or `undefined` if it is none of these versions. */
export function toState(word: unknown): TaskState | undefined {
  return statesByWord.get(word);
}

export const roleWords = ["user", "agent"] as const;
export type RoleWord = (typeof roleWords)[number];

/** Returns the word of a role; `otherwise` if it is unspecified. */
export function toRoleWord(role: Role, otherwise: RoleWord): RoleWord {
  if (role === Role.UNSPECIFIED) return otherwise;
  return role === Role.USER ? "user" : "agent";
}

export function toRole(word: RoleWord): Role {
  return word === "user" ? Role.USER : Role.AGENT;
}

/** The metadata flag of a data part that wraps a non-object value as `{ value }`. */
export const dataFlag = "data_part_compat";
