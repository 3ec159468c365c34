const pool = new Uint8Array(16 * 256);
let used = pool.length;
let lastMs = 0;
let counter = 0;

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/**
 * A UUIDv7 (RFC 9562): ids made later by this process sort behind earlier ones, also within a millisecond
 * (12 bits count up, 62 are random).
 */
export function newId(now: number = Date.now()): string {
  if (now > lastMs) {
    lastMs = now;
    counter = 0;
  } else if (++counter > 0xfff) {
    lastMs++;
    counter = 0;
  }
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const at = used;
  used += 8;
  const byte = (offset: number): string => hex[pool[at + offset] ?? 0] ?? "00";
  const variant = hex[((pool[at] ?? 0) & 0x3f) | 0x80] ?? "80";
  const time = lastMs.toString(16).padStart(12, "0");
  const count = counter.toString(16).padStart(3, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${variant}${byte(1)}-${byte(2)}${byte(3)}${byte(4)}${byte(5)}${byte(6)}${byte(7)}`;
}
