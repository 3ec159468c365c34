import { expect, it } from "vitest";
import { runConcurrently } from "../../../src/protocol/async/run-concurrently.js";
import { settle } from "../../support/virtual-clock.js";

/** Work on numbers, each of which ends when it is told to. */
function recordWork() {
  const startOrder: number[] = [];
  const ends = new Map<number, PromiseWithResolvers<void>>();
  const work = (item: number): Promise<void> => {
    startOrder.push(item);
    const end = Promise.withResolvers<void>();
    ends.set(item, end);
    return end.promise;
  };
  const end = async (item: number, error?: Error): Promise<void> => {
    if (error === undefined) ends.get(item)?.resolve();
    else ends.get(item)?.reject(error);
    await settle();
  };
  return { startOrder, work, end };
}

it("runConcurrently begins items in their order, so many at a time", async () => {
  const { startOrder, work, end } = recordWork();
  const all = runConcurrently([1, 2, 3, 4], 2, work);
  expect(startOrder).toEqual([1, 2]);
  await end(2);
  expect(startOrder).toEqual([1, 2, 3]);
  await end(3);
  await end(1);
  await end(4);
  await expect(all).resolves.toBeUndefined();
});

it("runConcurrently begins nothing after a failure, and fails once the others have ended", async () => {
  const { startOrder, work, end } = recordWork();
  let failed: unknown;
  const all = runConcurrently([1, 2, 3, 4], 2, work).catch((error: unknown) => {
    failed = error;
  });
  const torn = new Error("torn");
  await end(1, torn);
  expect([startOrder, failed]).toEqual([[1, 2], undefined]);
  await end(2, new Error("the second"));
  await all;
  expect([startOrder, failed]).toEqual([[1, 2], torn]);
});

it("runConcurrently takes no item before it is begun", async () => {
  const { startOrder, work, end } = recordWork();
  let open = true;
  function* whileOpen(): Generator<number> {
    for (let item = 1; open; item++) yield item;
  }
  const all = runConcurrently(whileOpen(), 2, work);
  open = false;
  await end(1);
  await end(2);
  await all;
  expect(startOrder).toEqual([1, 2]);
});
