import type { Clock } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { createStepStream, type Step, type StepStream } from "../../protocol/async/steps.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import type { SendMessageRequest } from "../../protocol/model.js";
import type { Operations, StreamItem } from "../../protocol/operations.js";
import type { SendOptions, TaskCallOptions } from "../send-options.js";

/** The methods of a client that a cancelable send calls. */
interface SendingClient {
  readonly operations: Operations<CallOptions>;
  cancel(taskId: string, options: TaskCallOptions): Promise<unknown>;
}

/** How long an aborted call may take to cancel its task, in milliseconds. */
const cancelTimeoutMs = 2_000;

/** How long an aborted stream waits for its first event, without which its task has no id, in milliseconds. */
const idWaitMs = 2_000;

/** Streams a message until its signal aborts or its time is over; then the task is canceled before the stream fails. */
export function sendCancelable(
  client: SendingClient,
  request: SendMessageRequest,
  options: SendOptions,
  clock: Clock,
): StepStream<StreamItem> {
  const { tenant, headers, signal = new AbortController().signal } = options;
  const inner = new AbortController();
  let source: AsyncIterator<StreamItem, unknown> | undefined;
  let taskId = "";
  let stopTimer = noop;
  const close = (): void => inner.abort(signal.reason);
  const onAbort = (): void => {
    if (taskId === "") stopTimer = clock.after(idWaitMs, close);
    else close();
  };
  const settle = (): void => {
    stopTimer();
    signal.removeEventListener("abort", onAbort);
  };
  const start = (): AsyncIterator<StreamItem, unknown> => {
    signal.throwIfAborted();
    signal.addEventListener("abort", onAbort, { once: true });
    const items = client.operations.sendStreamingMessage(request, { ...options, signal: inner.signal });
    return items[Symbol.asyncIterator]();
  };
  const next = async (): Promise<Step<StreamItem>> => {
    try {
      source ??= start();
      const step = await source.next();
      if (step.done === true) {
        settle();
        return { done: true, value: undefined };
      }
      taskId ||= readTaskId(step.value);
      signal.throwIfAborted();
      return { done: false, value: step.value };
    } catch (error) {
      settle();
      const reason = signal.aborted ? signal.reason : error;
      if (!signal.aborted && !isLate(error)) throw error;
      close();
      // A task that has ended meanwhile, or an agent that is away, changes nothing for the reader.
      if (taskId !== "") await client.cancel(taskId, { tenant, headers, timeoutMs: cancelTimeoutMs }).catch(noop);
      throw reason;
    }
  };
  return createStepStream(next, () => {
    settle();
    return source?.return?.();
  });
}

// A caller that has passed its time limit leaves its task as one that aborts does.
function isLate(error: unknown): boolean {
  return error instanceof A2AError && error.code === "deadlineExceeded";
}

function readTaskId({ response: { payload } }: StreamItem): string {
  if (payload.case === undefined) return "";
  return payload.case === "task" ? payload.value.id : payload.value.taskId;
}
