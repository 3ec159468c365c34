import type { Clock, RateDraw, RateGrant, RateStore } from "../../core/ports.js";

interface Window {
  used: number;
  endsAt: number;
}

/** Windows that are kept before those that have ended are looked for. */
const windowsBeforeSweep = 5000;

/** Limits that servers of one process share. */
export function memoryRates(clock: Pick<Clock, "now">): RateStore {
  const windows = new Map<string, Window>();
  let sweepAt = windowsBeforeSweep;
  const sweep = (now: number): void => {
    if (windows.size < sweepAt) return;
    for (const [key, { endsAt }] of windows) if (endsAt <= now) windows.delete(key);
    sweepAt = Math.max(windowsBeforeSweep, 2 * windows.size);
  };
  const grantOf = ({ key, windowMs, shiftMs, limit, need, used }: RateDraw, now: number): RateGrant => {
    const known = windows.get(key);
    const endsAt = (Math.floor((now + shiftMs) / windowMs) + 1) * windowMs - shiftMs;
    // One that ends later is of the same window, or of a clock that was set back.
    const window = known !== undefined && known.endsAt >= endsAt ? known : { used: 0, endsAt };
    const room = limit - window.used - used;
    const granted = Math.max(0, Math.min(room, Math.max(need, Math.floor(room / 16))));
    window.used += used + granted;
    windows.set(key, window);
    return { key, granted, left: Math.max(0, limit - window.used), endsInMs: window.endsAt - now };
  };
  return {
    async draw(draws) {
      const now = clock.now();
      sweep(now);
      return draws.map((draw) => grantOf(draw, now));
    },
  };
}
