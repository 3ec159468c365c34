import type { Clock } from "../../core/ports.js";

/** Whether another process may be listening. True until the opposite is known. */
export interface Presence {
  readonly others: boolean;
  /** This process can be heard from now on: it asks who is present. */
  connected(): void;
  /** A word from another process arrived. */
  heard(word: string): void;
  close(): void;
}

export interface PresenceOptions {
  readonly clock: Clock;
  say(word: string): void;
}

const periodMs = 5_000;
/** After this many silent periods no other process is present. */
const silentPeriods = 3;

/**
 * Each process announces itself now and then and answers newcomers. Most deployments have one process, which then need
 * not send notifications. A process that is missed for a while learns of changes by polling the store.
 */
export function createPresence({ clock, say }: PresenceOptions): Presence {
  // Present processes answer at once.
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
      // Others may have been present while this one was disconnected: they have one period to answer.
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
