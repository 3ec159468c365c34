import type { Clock } from "../../core/ports.js";

/** Whether another process may be listening. True until the opposite is known. */
export interface Presence {
  readonly others: boolean;
  /** Must be called when the connection is ready: asks who is present. */
  announce(): void;
  /** A word from another process arrived. */
  receive(word: string): void;
  /** Marks everyone as absent from now on. */
  close(): void;
}

export interface PresenceOptions {
  readonly clock: Clock;
  send(word: string): void;
}

const periodMs = 5_000;
/** After this many silent periods no other process is present. */
const silentPeriods = 3;

/**
 * Each process announces itself now and then and answers newcomers. Most deployments have one process, which need not
 * send notifications. A process that the others have not noticed yet finds changes by polling the store.
 */
export function createPresence({ clock, send }: PresenceOptions): Presence {
  // Present processes answer at once.
  let silence = silentPeriods - 1;
  let cancel: (() => void) | undefined;
  let closed = false;

  function nextPeriod(): void {
    if (closed) return;
    cancel = clock.after(periodMs, () => {
      silence += 1;
      send("here");
      nextPeriod();
    });
  }

  return {
    get others() {
      return !closed && silence < silentPeriods;
    },
    announce() {
      send("who");
      cancel?.();
      // Others may have been present while this one was disconnected: they have one period to answer.
      silence = Math.min(silence, silentPeriods - 1);
      nextPeriod();
    },
    receive(word) {
      silence = 0;
      if (word === "who") send("here");
    },
    close() {
      closed = true;
      cancel?.();
    },
  };
}
