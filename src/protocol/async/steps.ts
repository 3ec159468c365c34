import { noop } from "./noop.js";

/** One step of a stream that ends without a value. */
export type Step<T> = IteratorResult<T, undefined>;

/** The step after the last item. */
export const endStep: IteratorReturnResult<undefined> = { done: true, value: undefined };

/** A stream that can be left at any time. */
export interface StepStream<T> extends AsyncIterableIterator<T, undefined, undefined> {
  return(): Promise<Step<T>>;
}

/**
 * Creates a stream by hand. Unlike a generator it can be left while it waits, and costs no additional promise per item.
 * `next` is called until the stream is left; `leave` releases its source.
 */
export function createStepStream<T>(
  next: () => Promise<Step<T>>,
  leave: () => Promise<unknown> | undefined,
): StepStream<T> {
  let isLeft = false;
  const stream: StepStream<T> = {
    next: () => (isLeft ? Promise.resolve(endStep) : next()),
    async return() {
      isLeft = true;
      await leave();
      return endStep;
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;
}

/** A stream whose source is opened when its first item is asked for, and takes time to open. */
export function streamFrom<T>(open: () => Promise<AsyncIterable<T>>): StepStream<T> {
  let source: Promise<AsyncIterator<T>> | undefined;
  const next = async (): Promise<Step<T>> => {
    source ??= open().then((items) => items[Symbol.asyncIterator]());
    const step = await (await source).next();
    return step.done === true ? endStep : step;
  };
  return createStepStream(next, async () => (await source)?.return?.());
}

/** Leaves a stream before its end. Does not wait: a blocked source returns only when its own wait ends. */
export function leaveStream(stream: AsyncIterator<unknown, unknown> | undefined): void {
  stream?.return?.().then(undefined, noop);
}
