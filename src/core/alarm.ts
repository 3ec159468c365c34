import type { Clock, DueCursor } from "./ports.js";

/** With more pending times than this, the heartbeat finds what is due. */
const maxTimes = 1000;

/** Rings at given times. It may ring for nothing, and drops times when there are too many. */
export interface Alarm {
  /** `time`: milliseconds since the epoch. */
  at(time: number): void;
  /** Where the last sweep of due tasks stopped, if it did not reach the end. */
  behind: DueCursor | undefined;
  /** A closed alarm does not ring, and what it rang for is left to others. */
  readonly closed: boolean;
  close(): void;
}

/** Creates an alarm. `ring` must not reject; it is called again only after it has settled. */
export function createAlarm(clock: Clock, ring: () => Promise<void>): Alarm {
  /** Latest first. */
  const times: number[] = [];
  let cancel: (() => void) | undefined;
  let closed = false;
  let wanted = false;
  let ringing = false;

  const wait = (): void => {
    cancel?.();
    const next = times.at(-1);
    cancel = next === undefined || closed ? undefined : clock.after(Math.max(0, next - clock.now()), onElapsed);
  };
  const onElapsed = (): void => {
    const now = clock.now();
    while ((times.at(-1) ?? Number.POSITIVE_INFINITY) <= now) times.pop();
    cancel = undefined;
    wait();
    wanted = true;
    if (!ringing) void ringOn();
  };
  const ringOn = async (): Promise<void> => {
    ringing = true;
    while (wanted && !closed) {
      wanted = false;
      await ring();
    }
    ringing = false;
  };
  return {
    behind: undefined,
    get closed() {
      return closed;
    },
    at(time) {
      if (closed || times.length >= maxTimes || times.includes(time)) return;
      const index = times.findIndex((later) => later < time);
      times.splice(index === -1 ? times.length : index, 0, time);
      if (times.at(-1) === time) wait();
    },
    close() {
      closed = true;
      cancel?.();
    },
  };
}
