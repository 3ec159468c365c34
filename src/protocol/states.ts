import { TaskState } from "./model.js";

/** True for the four states that have no successor (spec 4.1.3). */
export function isTerminal(state: TaskState): boolean {
  return (
    state === TaskState.COMPLETED ||
    state === TaskState.FAILED ||
    state === TaskState.CANCELED ||
    state === TaskState.REJECTED
  );
}

/** True for the two states in which a task waits for its caller (spec 4.1.3). */
export function isInterrupted(state: TaskState): boolean {
  return state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED;
}

/** True for the states that answer a blocking send: terminal or interrupted (spec 3.2.2). */
export function isStop(state: TaskState): boolean {
  return isTerminal(state) || isInterrupted(state);
}
