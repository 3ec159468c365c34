import type { Rate, RateWindow } from "./options.js";

/** The lengths of windows in milliseconds. */
export const windows: Readonly<Record<RateWindow, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** A rate as numbers, and as an error shows it. */
export interface ReadRate {
  readonly limit: number;
  readonly windowMs: number;
  readonly text: string;
}

/** Reads a valid rate. */
export function readRate(rate: Rate): ReadRate {
  if (typeof rate === "object") return { ...rate, text: `${rate.limit} in ${rate.windowMs} ms` };
  const [limit = "", window = ""] = rate.split("/");
  return { limit: Number(limit), windowMs: windows[window as RateWindow], text: rate };
}

/** The window of a key at a time. Windows of different keys begin at different times, so that not all are new at once. */
interface Period {
  readonly number: number;
  readonly endsInMs: number;
}

export function findPeriod(now: number, windowMs: number, shiftMs: number): Period {
  const number = Math.floor((now + shiftMs) / windowMs);
  return { number, endsInMs: (number + 1) * windowMs - shiftMs - now };
}

/** How much earlier than the multiples of its length a key's windows begin, the same in every process. */
export function computeShift(key: string, windowMs: number): number {
  return hashKey(key) % windowMs;
}

/** Number of groups in which callers are counted when there are too many to count each by itself. */
const groups = 10_000;

export function computeGroup(key: string): number {
  return hashKey(key) % groups;
}

// FNV-1a.
function hashKey(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
