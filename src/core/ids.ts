const poolBytes = 8 * 512;
const pool = new Uint8Array(poolBytes);
let used = poolBytes;
let lastMs = 0;
let counter = 0;
/** The part of an id that encodes the milliseconds, up to and including the version. */
let prefix = "";

const hex: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const maxCounter = 0xfff;

/**
 * A UUIDv7 (RFC 9562). Ids from one process sort in creation order, also within a millisecond (12 bits count up, 62 are
 * random).
 */
export function newId(now: number = Date.now()): string {
  if (now > lastMs) beginMs(now);
  else if (++counter > maxCounter) beginMs(lastMs + 1);
  if (used === poolBytes) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const at = used;
  used += 8;
  const variant = hex[((pool[at] ?? 0) & 0x3f) | 0x80];
  return `${prefix}${hex[counter >> 8]?.[1]}${hex[counter & 0xff]}-${variant}${byte(at + 1)}-${byte(at + 2)}${byte(at + 3)}${byte(at + 4)}${byte(at + 5)}${byte(at + 6)}${byte(at + 7)}`;
}

function beginMs(ms: number): void {
  lastMs = ms;
  counter = 0;
  const time = ms.toString(16).padStart(12, "0");
  prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`;
}

function byte(index: number): string | undefined {
  return hex[pool[index] ?? 0];
}
