/**
 * A stream that can be left while it waits: `return()` aborts the signal that `open` was given, and `open` ends quietly
 * on it. A generator alone could not be left before its next step.
 */
export function cancelable<T>(
  open: (left: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncIterableIterator<T> {
  const leave = new AbortController();
  const items = open(leave.signal);
  const stream: AsyncIterableIterator<T> = {
    next: () => items.next(),
    return() {
      leave.abort();
      return items.return();
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;
}
