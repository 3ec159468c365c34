import type { Clock, RateDraw, RateGrant, RateStore } from "../../core/ports.js";

interface Window {
  used: number;
  endsAt: number;
}

/** Number of windows above which ended ones are removed. */
const windowsBeforeSweep = 5000;
/** Callers with a window of their own. Further callers share 4,096 windows, by the beginning of their keys. */
const windowsMax = 100_000;
/** Least time between two sweeps. */
const sweepRestMs = 1000;

/** Limits that servers of one process share. */
export function memoryRates(clock: Clock): RateStore {
  const windows = new Map<string, Window>();
  let sweepAt = windowsBeforeSweep;
  let sweptAt = Number.NEGATIVE_INFINITY;
  const sweep = (now: number): void => {
    if (windows.size < sweepAt || Math.abs(now - sweptAt) < sweepRestMs) return;
    sweptAt = now;
    for (const [key, { endsAt }] of windows) if (endsAt <= now) windows.delete(key);
    sweepAt = Math.min(windowsMax, Math.max(windowsBeforeSweep, 2 * windows.size));
  };
  const findSlot = ({ key, windowMs, shiftMs, limit }: RateDraw): { readonly name: string; readonly shift: number } =>
    windows.has(key) || windows.size < windowsMax
      ? { name: key, shift: shiftMs }
      : { name: `others ${windowMs} ${limit} ${key.slice(0, 2)}`, shift: 0 };
  const grant = (draw: RateDraw, now: number): RateGrant => {
    const { key, windowMs, limit, need, used } = draw;
    const { name, shift } = findSlot(draw);
    const last = windows.get(name);
    const endsAt = (Math.floor((now + shift) / windowMs) + 1) * windowMs - shift;
    // A window that ends later is the current one, or the clock was set back.
    const window = last !== undefined && last.endsAt >= endsAt ? last : { used: 0, endsAt };
    const room = limit - window.used - used;
    const granted = Math.max(0, Math.min(room, Math.max(need, Math.floor(room / 16))));
    window.used += used + granted;
    windows.set(name, window);
    return { key, granted, left: Math.max(0, limit - window.used), endsInMs: window.endsAt - now };
  };
  return {
    async draw(draws) {
      const now = clock.now();
      sweep(now);
      return draws.map((draw) => grant(draw, now));
    },
  };
}
