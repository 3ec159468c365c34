import { over, type Step, type StepStream, streamOfSteps } from "../protocol/async/steps.js";
import { withEventId } from "../protocol/extensions.js";
import type { StreamItem } from "../protocol/operations.js";
import type { BookedAnswer } from "./booked-answer.js";

/** Called with the task that a stream belongs to. */
export interface StreamWatch {
  /** Called with the task's id for each event that has one. */
  onTask(taskId: string): void;
  /** Called when the stream has ended or its reader has left. */
  onEnd(): void;
}

export interface PassedStreamOptions {
  /** Events carry their ids in their metadata. */
  readonly marks: boolean;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
  /** Books what arrives of the next event. */
  readonly answer: BookedAnswer;
  /** Counts the stream as active from its first event until the returned function is called. */
  readonly enter: () => () => void;
  /** Converts a failure into the caller's error. */
  readonly failureOf: (error: unknown) => unknown;
  readonly watch?: StreamWatch | undefined;
}

/** A stream of the upstream agent, read as the caller reads it. Leaving it closes the agent's at once. */
export function passStream(
  source: AsyncIterable<StreamItem>,
  { marks, signal, answer, enter, failureOf, watch }: PassedStreamOptions,
): StepStream<StreamItem> {
  const items = source[Symbol.asyncIterator]();
  let exit: (() => void) | undefined;
  const end = (): Step<StreamItem> => {
    answer.end();
    exit?.();
    watch?.onEnd();
    return over;
  };
  const next = async (): Promise<Step<StreamItem>> => {
    exit ??= enter();
    try {
      const step = await answer.run(() => items.next());
      answer.release();
      if (step.done === true) return end();
      notify(watch, step.value);
      return { done: false, value: marks ? markItem(step.value) : step.value };
    } catch (error) {
      end();
      if (signal.aborted) return over;
      throw failureOf(error);
    }
  };
  return streamOfSteps(next, async () => {
    await items.return?.();
    end();
  });
}

function notify(watch: StreamWatch | undefined, { response: { payload } }: StreamItem): void {
  if (watch === undefined || payload.case === undefined || payload.case === "message") return;
  const taskId = payload.case === "task" ? payload.value.id : payload.value.taskId;
  if (taskId !== "") watch.onTask(taskId);
}

function markItem(item: StreamItem): StreamItem {
  return item.id === undefined ? item : { ...item, response: withEventId(item.response, item.id) };
}
