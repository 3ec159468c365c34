import { TaskState } from "./model.js";

/** Whether a task in this state has ended: one of the four terminal states (spec 4.1.3). */
export function isTerminal(state: TaskState): boolean {
  return (
    state === TaskState.COMPLETED ||
    state === TaskState.FAILED ||
    state === TaskState.CANCELED ||
    state === TaskState.REJECTED
  );
}

/** Whether a task in this state waits for its caller (spec 4.1.3). */
export function isInterrupted(state: TaskState): boolean {
  return state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED;
}

/** Whether this state answers a blocking send: terminal or interrupted (spec 3.2.2). */
export function endsBlockingSend(state: TaskState): boolean {
  return isTerminal(state) || isInterrupted(state);
}

/** A task's state in words (spec 4.1.3). */
export type StateName =
  | "submitted"
  | "working"
  | "completed"
  | "failed"
  | "canceled"
  | "rejected"
  | "input-required"
  | "auth-required"
  | "unspecified";

const stateNames: Readonly<Record<TaskState, StateName>> = {
  [TaskState.UNSPECIFIED]: "unspecified",
  [TaskState.SUBMITTED]: "submitted",
  [TaskState.WORKING]: "working",
  [TaskState.COMPLETED]: "completed",
  [TaskState.FAILED]: "failed",
  [TaskState.CANCELED]: "canceled",
  [TaskState.INPUT_REQUIRED]: "input-required",
  [TaskState.REJECTED]: "rejected",
  [TaskState.AUTH_REQUIRED]: "auth-required",
};

/**
 * Returns the name of a state; `"unspecified"` for a missing state, and for a number that this version of the protocol
 * does not define.
 *
 * @example
 * ```ts
 * console.log(stateName(task.status?.state)); // "completed"
 * ```
 */
export function stateName(state: TaskState | undefined): StateName {
  return (state === undefined ? undefined : stateNames[state]) ?? "unspecified";
}
