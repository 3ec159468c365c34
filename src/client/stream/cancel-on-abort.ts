import type { Clock } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { type Step, type StepStream, streamOfSteps } from "../../protocol/async/steps.js";
import type { StreamItem } from "../../protocol/operations.js";

/** A stream whose task is canceled with it. */
export interface CancelableStream {
  /** Aborts the stream and cancels its task. */
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, "after">;
  /** Opens the stream, which ends when the given signal aborts. */
  readonly open: (signal: AbortSignal) => AsyncIterable<StreamItem>;
  readonly cancel: (taskId: string) => Promise<unknown>;
}

/** How long an aborted stream waits for its first event, without which its task has no id, in milliseconds. */
const idWaitMs = 2_000;

/** The items of a stream, until `signal` aborts; then the task is canceled before the stream fails. */
export function cancelingOnAbort({ signal, clock, open, cancel }: CancelableStream): StepStream<StreamItem> {
  const inner = new AbortController();
  let source: AsyncIterator<StreamItem, unknown> | undefined;
  let taskId = "";
  let stopTimer = noop;
  const close = (): void => inner.abort(signal.reason);
  const aborted = (): void => {
    if (taskId === "") stopTimer = clock.after(idWaitMs, close);
    else close();
  };
  const settle = (): void => {
    stopTimer();
    signal.removeEventListener("abort", aborted);
  };
  const start = (): AsyncIterator<StreamItem, unknown> => {
    signal.throwIfAborted();
    signal.addEventListener("abort", aborted, { once: true });
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
      taskId ||= taskIdOf(step.value);
      signal.throwIfAborted();
      return { done: false, value: step.value };
    } catch (error) {
      settle();
      if (!signal.aborted) throw error;
      close();
      // A task that has ended meanwhile, or an agent that is away, changes nothing for the reader.
      if (taskId !== "") await cancel(taskId).catch(noop);
      throw signal.reason;
    }
  };
  return streamOfSteps(next, () => {
    settle();
    return source?.return?.();
  });
}

function taskIdOf({ response: { payload } }: StreamItem): string {
  if (payload.case === undefined) return "";
  return payload.case === "task" ? payload.value.id : payload.value.taskId;
}
