/**
 * Runs `work` for several items at a time, and starts them in order. After a failure it starts no more, and rejects with
 * that failure once the running ones have settled.
 */
export async function runConcurrently<T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const runNext = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true && failures.length === 0; next = iterator.next()) {
      await work(next.value).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runNext));
  if (failures.length > 0) throw failures[0];
}
