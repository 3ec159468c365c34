/** Yields to the event loop this many times. */
export async function turns(count: number): Promise<void> {
  for (let turnsLeft = count; turnsLeft > 0; turnsLeft--) await new Promise<void>((resolve) => setImmediate(resolve));
}
