import { untilAborted } from "../part.js";

interface Flight<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

/** Runs one piece of work at a time for all who wait for it; it is aborted when the last of them has left. */
export function shareWork<T>(
  work: (signal: AbortSignal) => Promise<T>,
): (signal: AbortSignal | undefined) => Promise<T> {
  let current: Flight<T> | undefined;

  function start(): Flight<T> {
    const stop = new AbortController();
    return { result: work(stop.signal), stop, waiting: 0 };
  }

  return async (signal) => {
    signal?.throwIfAborted();
    current ??= start();
    const flight = current;
    flight.waiting += 1;
    try {
      return await untilAborted(() => flight.result, signal);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        if (current === flight) current = undefined;
        flight.stop.abort();
      }
    }
  };
}
