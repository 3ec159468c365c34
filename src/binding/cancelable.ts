/**
 * Makes a stream that can be cancelled while it waits. `return()` aborts the signal passed to `open`, and `open` then
 * ends without an error. A plain generator handles `return()` only after its pending step.
 */
export function cancelable<T>(
  open: (leaveSignal: AbortSignal) => AsyncGenerator<T, void, undefined>,
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
