import { leaveStream } from "../protocol/async/steps.js";
import { systemClock } from "../protocol/async/system-clock.js";
import { A2AError } from "../protocol/errors.js";
import { CallDeadline } from "./call-deadline.js";

/** The end of a caller's wait, at the time that it has announced. */
export interface AnnouncedDeadline {
  /** Waits for one promise at a time. Rejects with `deadlineExceeded` when the time is over. */
  until<T>(work: Promise<T>): Promise<T>;
  /** The items of a stream, with the same end. */
  items<T>(items: AsyncIterable<T>): AsyncIterable<T>;
  /** The reason of a caller that leaves now: `deadlineExceeded` close to its deadline, else none. */
  reasonOfLeaving(): A2AError | undefined;
  end(): void;
}

/** A caller that leaves this shortly before its deadline has timed out: its clock started before the call arrived. */
const latenessMs = 1000;

/** Starts the deadline of a call, in milliseconds since 1970. `passed` gets the error when it passes. */
export function startDeadline(time: number, onPassed: (reason: unknown) => void): AnnouncedDeadline {
  const timeoutMs = Math.max(0, time - Date.now());
  const lateFrom = time - Math.min(latenessMs, timeoutMs / 2);
  const deadline = new CallDeadline({ timeoutMs }, systemClock);
  deadline.onOver = () => onPassed(deadline.reason);
  return {
    until: (work) => deadline.until(work),
    items: (items) => untilDeadline(items, deadline),
    reasonOfLeaving: () =>
      Date.now() < lateFrom ? undefined : new A2AError("deadlineExceeded", "the caller has left at its deadline"),
    end: () => deadline.end(),
  };
}

async function* untilDeadline<T>(items: AsyncIterable<T>, deadline: CallDeadline): AsyncGenerator<T, void, undefined> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await deadline.until(iterator.next());
      if (done === true) return;
      yield value;
    }
  } finally {
    leaveStream(iterator);
  }
}
