import { setImmediate } from "node:timers/promises";
import type { VirtualClock } from "../../support/virtual-clock.js";

/** Waits until a pause begins on a stopped clock. Returns its length in milliseconds. */
export async function nextPause(clock: VirtualClock): Promise<number> {
  for (;;) {
    const [due] = clock.pending();
    if (due !== undefined) return due - clock.now();
    await setImmediate();
  }
}

/**
 * Advances a clock from pause to pause until the promise settles. Returns the pauses. `onPause` is called in each of them
 * with its number.
 */
export async function throughPauses(
  clock: VirtualClock,
  over: Promise<unknown>,
  onPause?: (count: number) => Promise<void> | undefined,
): Promise<readonly number[]> {
  const pauses: number[] = [];
  const ended = over.then(
    () => "over" as const,
    () => "over" as const,
  );
  for (;;) {
    const next = await Promise.race([nextPauseOr(clock, ended), ended]);
    if (next === "over") return pauses;
    pauses.push(next);
    await onPause?.(pauses.length);
    await clock.advance(next);
  }
}

async function nextPauseOr(clock: VirtualClock, ended: Promise<"over">): Promise<number | "over"> {
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const [due] = clock.pending();
    if (due !== undefined) return due - clock.now();
    await setImmediate();
  }
  return "over";
}
