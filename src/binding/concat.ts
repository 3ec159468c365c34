/** Concatenates the pieces. A single piece is returned without a copy. */
export function concat(pieces: readonly Uint8Array[], bytes: number): Uint8Array {
  const [first] = pieces;
  if (first?.length === bytes) return first;
  const whole = new Uint8Array(bytes);
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  return whole;
}
