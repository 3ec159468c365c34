import { untilAborted } from "../part.js";

interface SharedCall<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  waiters: number;
}

/** Runs one piece of work at a time for all callers that wait for it. Aborts it when the last one leaves. */
export function shareWork<T>(
  work: (signal: AbortSignal) => Promise<T>,
): (signal: AbortSignal | undefined) => Promise<T> {
  let current: SharedCall<T> | undefined;

  function start(): SharedCall<T> {
    const stop = new AbortController();
    return { result: work(stop.signal), stop, waiters: 0 };
  }

  return async (signal) => {
    signal?.throwIfAborted();
    current ??= start();
    const call = current;
    call.waiters += 1;
    try {
      return await untilAborted(() => call.result, signal);
    } finally {
      call.waiters -= 1;
      if (call.waiters === 0) {
        if (current === call) current = undefined;
        call.stop.abort();
      }
    }
  };
}
