import { type Answer, answerOf } from "../client/answer/answer.js";
import type { Client } from "../client/node.js";
import { amount, assertOptions, type MembersOf, object, string } from "../protocol/check/rules.js";
import { A2AError } from "../protocol/errors.js";
import { applyEvent, copyTask } from "../protocol/fold.js";
import { type Task, TaskState, typeNames } from "../protocol/model.js";
import { isTerminal, type StateName } from "../protocol/states.js";

/** Options of `waitFor`. */
export interface WaitForOptions {
  /** Timeout in milliseconds of real time. Default: 4,000, so that its error comes before the time limit of most runners. */
  readonly timeoutMs?: number | undefined;
  /** Tenant of the task. Default: none. */
  readonly tenant?: string | undefined;
}

const members: MembersOf<WaitForOptions> = { timeoutMs: { rule: amount }, tenant: { rule: string } };
const rule = object(members);

type Calls = Pick<Client, "operations">;

/**
 * Waits until a task is in a state, such as `"working"`, or matches a predicate, and resolves with the task at that
 * moment. May miss a state that the task leaves quickly. Rejects, with the task's state in the error, if the task ends
 * without a match or after `timeoutMs`.
 *
 * @example
 * ```ts
 * const question = await waitFor(client, taskId, "input-required", { timeoutMs: 2000 });
 * assert.equal(question.text, "Which ship?");
 * ```
 */
export async function waitFor(
  client: Calls,
  taskId: string,
  condition: StateName | ((answer: Answer) => boolean),
  options: WaitForOptions = {},
): Promise<Answer> {
  assertOptions("waitFor()", options, rule);
  const { timeoutMs = 4_000, tenant = "" } = options;
  const isMet = typeof condition === "function" ? condition : ({ state }: Answer) => state === condition;
  const goal = typeof condition === "function" ? "the condition" : condition;
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  let state: Answer["state"] | "unknown" = "unknown";
  try {
    for await (const task of watchTask(client, { id: taskId, tenant }, deadline.signal)) {
      const answer = answerOf(task);
      state = answer.state;
      if (isMet(answer)) return answerOf(copyTask(task));
    }
  } catch (error) {
    if (!deadline.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  const why = deadline.signal.aborted ? `within ${timeoutMs} ms` : "and has ended";
  throw new Error(`the task ${taskId} did not reach ${goal} ${why}: its state is ${state}`);
}

/** Yields the current task, and again after each event. */
async function* watchTask(
  { operations }: Calls,
  request: { readonly id: string; readonly tenant: string },
  signal: AbortSignal,
): AsyncGenerator<Task, void, undefined> {
  const readTask = (): Promise<Task> =>
    operations.getTask({ $typeName: typeNames.GetTaskRequest, ...request }, { signal });
  let task = await readTask();
  yield task;
  if (isTerminal(task.status?.state ?? TaskState.UNSPECIFIED)) return;
  const subscription = { $typeName: typeNames.SubscribeToTaskRequest, ...request } as const;
  try {
    for await (const { response } of operations.subscribeToTask(subscription, { signal })) {
      if (response.payload.case === "task") task = copyTask(response.payload.value);
      else applyEvent(task, response);
      yield task;
    }
  } catch (error) {
    // The task ended before the subscription began.
    if (!(error instanceof A2AError) || error.code !== "unsupportedOperation") throw error;
    yield await readTask();
  }
}
