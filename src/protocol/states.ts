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
export function isStop(state: TaskState): boolean {
  return isTerminal(state) || isInterrupted(state);
}
