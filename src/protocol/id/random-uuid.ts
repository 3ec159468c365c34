/**
 * Returns a random UUID (RFC 9562, version 4). Browsers offer `crypto.randomUUID` only on secure pages, and pages on a
 * local network often are not secure.
 */
export function randomUuid(): string {
  const { randomUUID } = crypto as { readonly randomUUID?: () => string };
  return randomUUID === undefined ? buildUuid() : randomUUID.call(crypto);
}

/** Builds the UUID from random bytes. */
export function buildUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte, index) => markByte(byte, index).toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

// The version and the variant take the first bits of two bytes.
function markByte(byte: number, index: number): number {
  if (index === 6) return (byte & 0x0f) | 0x40;
  return index === 8 ? (byte & 0x3f) | 0x80 : byte;
}
