import type { Clock } from "../../protocol/async/clock.js";

/** Calls `run` every `ms` until the returned function is called. */
export function repeat(clock: Clock, ms: number, run: () => void): () => void {
  let cancel: () => void;
  const wait = (): void => {
    cancel = clock.after(ms, () => {
      wait();
      run();
    });
  };
  wait();
  return () => cancel();
}
