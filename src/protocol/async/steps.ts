/** An answer of a stream that ends without a value. */
export type Step<T> = IteratorResult<T, undefined>;

/** The step behind the last item. */
export const over: IteratorReturnResult<undefined> = { done: true, value: undefined };

/** A stream that can be left at any time. */
export interface StepStream<T> extends AsyncIterableIterator<T, undefined, undefined> {
  return(): Promise<Step<T>>;
}

/**
 * A stream made by hand. Unlike a generator it can be left while it waits, and costs an item no promise more. `next` is
 * asked until the stream is left; `leave` frees what it reads from.
 */
export function streamOfSteps<T>(
  next: () => Promise<Step<T>>,
  leave: () => Promise<unknown> | undefined,
): StepStream<T> {
  let isLeft = false;
  const stream: StepStream<T> = {
    next: () => (isLeft ? Promise.resolve(over) : next()),
    async return() {
      isLeft = true;
      await leave();
      return over;
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;
}
