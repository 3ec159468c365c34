import type { Clock } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { createStepStream, type Step, type StepStream } from "../../protocol/async/steps.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import type { SendMessageRequest } from "../../protocol/model.js";
import type { Operations, StreamItem } from "../../protocol/operations.js";
import type { SendOptions, TaskCallOptions } from "../send-options.js";

/** A streaming send whose task is canceled when its signal aborts or its time is over. */
export interface CancelableSend {
  readonly client: {
    readonly operations: Operations<CallOptions>;
    cancel(taskId: string, options: TaskCallOptions): Promise<unknown>;
  };
  readonly clock: Pick<Clock, "after">;
  readonly options: SendOptions;
}

/** How long an aborted call may take to cancel its task, in milliseconds. */
const cancelTimeoutMs = 2_000;

export function sendCancelable(request: SendMessageRequest, call: CancelableSend): StepStream<StreamItem> {
  const { client, clock, options } = call;
  const { tenant, headers, signal = new AbortController().signal } = options;
  return cancelingOnAbort({
    signal,
    clock,
    open: (inner) => client.operations.sendStreamingMessage(request, { ...options, signal: inner }),
    cancel: (taskId) => client.cancel(taskId, { tenant, headers, timeoutMs: cancelTimeoutMs }),
  });
}

/** A stream whose task is canceled with it. */
interface CancelableStream {
  /** Aborts the stream and cancels its task. */
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, "after">;
  /** Opens the stream, which ends when the given signal aborts. */
  readonly open: (signal: AbortSignal) => AsyncIterable<StreamItem>;
  readonly cancel: (taskId: string) => Promise<unknown>;
}

/** How long an aborted stream waits for its first event, without which its task has no id, in milliseconds. */
const idWaitMs = 2_000;

/** The items of a stream, until `signal` aborts or its time is over; then the task is canceled before the stream fails. */
function cancelingOnAbort({ signal, clock, open, cancel }: CancelableStream): StepStream<StreamItem> {
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
    return open(inner.signal)[Symbol.asyncIterator]();
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
      if (taskId !== "") await cancel(taskId).catch(noop);
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
