import { Role, TaskState } from "../../../protocol/model.js";

// The words of kind-JSON for what the model has enums for.

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

/** A state as kind-JSON spells it. */
export type StateWord = (typeof states)[number][0];

const stateWords: ReadonlyMap<TaskState, StateWord> = new Map(states.map(([word, state]) => [state, word]));
const statesByWord: ReadonlyMap<unknown, TaskState> = new Map<unknown, TaskState>([
  ...states,
  // Old peers were written by hand, some of them by people who spell it so.
  ["cancelled", TaskState.CANCELED],
]);

/** `unknown` for a state that these versions have no word for. */
export function wordOfState(state: TaskState): StateWord {
  return stateWords.get(state) ?? "unknown";
}

/** Anything that is no word of these versions reads as unspecified. */
export function stateOfWord(word: unknown): TaskState {
  return statesByWord.get(word) ?? TaskState.UNSPECIFIED;
}

export const roleWords = ["user", "agent"] as const;
export type RoleWord = (typeof roleWords)[number];

/** The role of a message that has none is `otherwise`. */
export function wordOfRole(role: Role, otherwise: RoleWord): RoleWord {
  if (role === Role.UNSPECIFIED) return otherwise;
  return role === Role.USER ? "user" : "agent";
}

export function roleOfWord(word: RoleWord): Role {
  return word === "user" ? Role.USER : Role.AGENT;
}

/** The metadata flag of a data part that holds `{ value }` in place of a value that is no object. */
export const dataFlag = "data_part_compat";
