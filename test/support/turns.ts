/** Yields to the event loop this many times. */
export async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise<void>((resolve) => setImmediate(resolve));
}
