import type { Clock, RateDraw, RateGrant, RateStore } from "../../core/ports.js";

interface Window {
  used: number;
  endsAt: number;
}

/** Windows that are kept before those that have ended are looked for. */
const windowsBeforeSweep = 5000;
/** Callers with a window of their own; further ones share one with those whose keys begin alike, of which there are 4,096. */
const windowsMax = 100_000;
/** Least time between two searches for windows that have ended. */
const sweepRestMs = 1000;

/** Limits that servers of one process share. */
export function memoryRates(clock: Pick<Clock, "now">): RateStore {
  const windows = new Map<string, Window>();
  let sweepAt = windowsBeforeSweep;
  let sweptAt = Number.NEGATIVE_INFINITY;
  const sweep = (now: number): void => {
    if (windows.size < sweepAt || Math.abs(now - sweptAt) < sweepRestMs) return;
    sweptAt = now;
    for (const [key, { endsAt }] of windows) if (endsAt <= now) windows.delete(key);
    sweepAt = Math.min(windowsMax, Math.max(windowsBeforeSweep, 2 * windows.size));
  };
  const placeOf = ({ key, windowMs, shiftMs, limit }: RateDraw): { readonly name: string; readonly shift: number } =>
    windows.has(key) || windows.size < windowsMax
      ? { name: key, shift: shiftMs }
      : { name: `others ${windowMs} ${limit} ${key.slice(0, 2)}`, shift: 0 };
  const grantOf = (draw: RateDraw, now: number): RateGrant => {
    const { key, windowMs, limit, need, used } = draw;
    const { name, shift } = placeOf(draw);
    const known = windows.get(name);
    const endsAt = (Math.floor((now + shift) / windowMs) + 1) * windowMs - shift;
    // One that ends later is of the same window, or of a clock that was set back.
    const window = known !== undefined && known.endsAt >= endsAt ? known : { used: 0, endsAt };
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
      return draws.map((draw) => grantOf(draw, now));
    },
  };
}
