import type { Clock } from "../protocol/async/clock.js";
import { leaveStream } from "../protocol/async/steps.js";
import { systemClock } from "../protocol/async/system-clock.js";
import type { CallOptions, ReadHeader } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";

// The deadline of a call, at both ends. A client sends how long it waits (`withTimeout`), and a server reads it as a
// time (`readDeadline`), once, when the call arrives: the body and the authentication take the caller's time, too.
// `CallDeadline` ends one wait: of the caller in this process, or of the pipeline for a caller elsewhere
// (`AnnouncedDeadline`). A deadline ends the wait and never the work: whoever waits decides what happens to that.

/** How long a caller waits: `5S`, `300m` (gRPC). Over HTTP it counts in every binding. */
const timeoutHeader = "grpc-timeout";
const connectTimeoutHeader = "connect-timeout-ms";

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };
/** Longer timeouts, about 25 days, exceed what a timer can measure and count as none. */
export const unlimitedMs = 2 ** 31;
/** The largest timeout that gRPC can send, about a day: eight digits. Longer ones are not sent. */
export const timeoutMaxMs = 99_999_999;

/** When the caller of an HTTP request stops waiting, in milliseconds since 1970. A value that cannot be read counts as none. */
export function readDeadline(header: ReadHeader): number | undefined {
  const timeout = header(timeoutHeader);
  const connectTimeout = timeout === undefined ? header(connectTimeoutHeader) : undefined;
  if (timeout === undefined && connectTimeout === undefined) return undefined;
  return toDeadline(parseTimeout(timeout ?? `${connectTimeout}m`));
}

/** Converts a timeout to a time in milliseconds since 1970; `undefined` if it is too far away. */
export function toDeadline(timeoutMs: number | undefined): number | undefined {
  return timeoutMs === undefined || !(timeoutMs < unlimitedMs) ? undefined : Date.now() + timeoutMs;
}

/** The milliseconds of a gRPC timeout. */
export function parseTimeout(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d{1,10})([HMSmun])$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (unitMs[unit] ?? 0);
}

/** Adds the time limit of a call to its headers. */
export function withTimeout(options: CallOptions): CallOptions {
  const { timeoutMs = Number.POSITIVE_INFINITY, headers } = options;
  if (timeoutMs > timeoutMaxMs) return options;
  return { ...options, headers: { [timeoutHeader]: `${Math.ceil(timeoutMs)}m`, ...headers } };
}

/** The caller's side of one call. The wait ends when the caller aborts, its time runs out, or it leaves the stream. */
export class CallDeadline {
  /** Whether the caller has aborted or its time has run out. */
  isOver = false;
  /** The abort reason, or the `deadlineExceeded` error. */
  reason: unknown;
  /** Called when the caller aborts or its time runs out. */
  onOver: (() => void) | undefined;
  readonly #stops: (() => void)[] = [];
  #reject: ((reason: unknown) => void) | undefined;

  constructor({ signal, timeoutMs }: CallOptions, clock: Clock, leaveSignal?: AbortSignal) {
    if (signal !== undefined) this.#listen(signal, () => this.#giveUp(signal.reason));
    if (leaveSignal !== undefined) this.#listen(leaveSignal, () => this.#reject?.(leaveSignal.reason));
    if (timeoutMs === undefined || this.isOver) return;
    const late = (): void => this.#giveUp(new A2AError("deadlineExceeded", `no answer within ${timeoutMs} ms`));
    this.#stops.push(clock.after(timeoutMs, late));
  }

  /** Waits for one promise at a time. Rejects with the reason when the wait ends first. */
  until<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      work.then(resolve, reject);
      if (this.isOver) reject(this.reason);
    });
  }

  /** Removes all listeners and timers once the call is done. */
  end(): void {
    this.#reject = undefined;
    for (const stop of this.#stops.splice(0)) stop();
  }

  #listen(signal: AbortSignal, onAbort: () => void): void {
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    this.#stops.push(() => signal.removeEventListener("abort", onAbort));
  }

  #giveUp(reason: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.reason = reason;
    this.#reject?.(reason);
    this.onOver?.();
  }
}

/** A caller that leaves this shortly before its deadline has timed out: its clock started before the call arrived. */
const latenessMs = 1000;

/** The deadline that the caller of a server has announced. */
export class AnnouncedDeadline extends CallDeadline {
  readonly #lateFromMs: number;

  /** `time`: in milliseconds since 1970. `onPassed` gets the error when it passes. */
  constructor(time: number, onPassed: (reason: unknown) => void) {
    const timeoutMs = Math.max(0, time - Date.now());
    super({ timeoutMs }, systemClock);
    this.#lateFromMs = time - Math.min(latenessMs, timeoutMs / 2);
    this.onOver = () => onPassed(this.reason);
  }

  /** The items of a stream until the deadline passes. */
  async *items<T>(items: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    const iterator = items[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await this.until(iterator.next());
        if (done === true) return;
        yield value;
      }
    } finally {
      leaveStream(iterator);
    }
  }

  /** The reason of a caller that leaves now: `deadlineExceeded` close to its deadline, else none. */
  findReasonToLeave(): A2AError | undefined {
    if (Date.now() < this.#lateFromMs) return undefined;
    return new A2AError("deadlineExceeded", "the caller has left at its deadline");
  }
}
