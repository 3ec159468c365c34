import type { Clock } from "./clock.js";
import { noop } from "./noop.js";

type Timers = Pick<Clock, "after">;
type Signals = readonly (AbortSignal | undefined)[];

/** Waits. Rejects with the reason of the first signal that aborts. */
export async function pause(clock: Timers, ms: number, ...signals: Signals): Promise<void> {
  const timer = startTimer(clock, ms);
  try {
    await unlessAborted(timer.over, ...signals);
  } finally {
    timer.cancel();
  }
}

/** Waits for a promise, at most `ms`. */
export async function within(clock: Timers, ms: number, wait: Promise<void>): Promise<void> {
  const timer = startTimer(clock, ms);
  try {
    await Promise.race([wait, timer.over]);
  } finally {
    timer.cancel();
  }
}

function startTimer(clock: Timers, ms: number): { readonly over: Promise<void>; readonly cancel: () => void } {
  let cancel = noop;
  const over = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  return { over, cancel };
}

/** Waits for a promise that cannot be canceled. Rejects with the reason of the first signal that aborts. */
export async function unlessAborted<T>(wait: Promise<T>, ...signals: Signals): Promise<T> {
  let leave = noop;
  const aborted = new Promise<never>((_, reject) => {
    leave = () => {
      const signal = signals.find((each) => each?.aborted);
      if (signal !== undefined) reject(signal.reason);
    };
    for (const signal of signals) signal?.addEventListener("abort", leave, { once: true });
    leave();
  });
  try {
    return await Promise.race([wait, aborted]);
  } finally {
    for (const signal of signals) signal?.removeEventListener("abort", leave);
  }
}
