/** The first items, up to the one that takes their bytes over the limit; at least one. */
export function takeWithin<T>(
  items: readonly T[],
  measure: (item: T) => number,
  maxBytes = Number.POSITIVE_INFINITY,
): readonly T[] {
  let bytes = 0;
  const end = items.findIndex((item, index) => {
    bytes += measure(item);
    return index > 0 && bytes > maxBytes;
  });
  return end < 0 ? items : items.slice(0, end);
}
