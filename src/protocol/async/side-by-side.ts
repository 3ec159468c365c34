/**
 * Runs `work` for several items at a time, begun in their order. After a failure no other begins; rejects with it when
 * those that had begun have settled.
 */
export async function sideBySide<T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const goOn = async (): Promise<void> => {
    for (let next = left.next(); next.done !== true && failures.length === 0; next = left.next()) {
      await work(next.value).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, goOn));
  if (failures.length > 0) throw failures[0];
}
