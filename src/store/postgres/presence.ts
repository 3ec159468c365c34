import type { Clock } from "../../core/ports.js";

/** Whether another process may listen. Before that is known, the answer is yes. */
export interface Presence {
  readonly others: boolean;
  /** This process is heard from now on: asks who is there. */
  connected(): void;
  /** Another process has said this. */
  heard(word: string): void;
  close(): void;
}

export interface PresenceOptions {
  readonly clock: Clock;
  say(word: string): void;
}

const periodMs = 5_000;
/** After so many silent periods no other process is there. */
const silentPeriods = 3;

/**
 * Each process says now and then that it is there, and answers one that has just come. Most deployments are of one
 * process, which then need not tell itself what it does. One that is missed for a while finds out by asking the store.
 */
export function createPresence({ clock, say }: PresenceOptions): Presence {
  // Who is there answers at once.
  let silence = silentPeriods - 1;
  let cancel: (() => void) | undefined;
  let closed = false;

  function nextPeriod(): void {
    if (closed) return;
    cancel = clock.after(periodMs, () => {
      silence += 1;
      say("here");
      nextPeriod();
    });
  }

  return {
    get others() {
      return silence < silentPeriods;
    },
    connected() {
      say("who");
      cancel?.();
      // Others may have been there while this one was away: they have a period to answer.
      silence = Math.min(silence, silentPeriods - 1);
      nextPeriod();
    },
    heard(word) {
      silence = 0;
      if (word === "who") say("here");
    },
    close() {
      closed = true;
      cancel?.();
    },
  };
}
