import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createGroupCommit } from "../../src/store/group-commit.js";

/** A flush whose calls end on request. */
function airport() {
  const flights: { readonly writes: readonly number[]; land: () => void; crash: (error: Error) => void }[] = [];
  const flush = (writes: readonly number[]) =>
    new Promise<readonly (string | Error)[]>((resolve, reject) => {
      flights.push({ writes, land: () => resolve(writes.map(String)), crash: reject });
    });
  return { flights, flush };
}

describe("a group commit", () => {
  it("a group commit flushes a write at once when none is in flight, and later ones together", async () => {
    const { flights, flush } = airport();
    const commit = createGroupCommit(flush);
    const results = [1, 2, 3].map((write) => commit.write(write));
    expect(flights.map(({ writes }) => writes)).toEqual([[1]]);
    flights[0]?.land();
    expect(await results[0]).toBe("1");
    expect(flights.map(({ writes }) => writes)).toEqual([[1], [2, 3]]);
    flights[1]?.land();
    expect(await Promise.all(results)).toEqual(["1", "2", "3"]);
    const late = commit.write(4);
    expect(flights.at(-1)?.writes).toEqual([4]);
    flights.at(-1)?.land();
    expect(await late).toBe("4");
  });

  it("a group commit carries at most so many writes in one flight", async () => {
    const { flights, flush } = airport();
    const commit = createGroupCommit(flush, { maxWrites: 2 });
    const all = Promise.all([1, 2, 3, 4, 5, 6].map((write) => commit.write(write)));
    for (let flight = 0; flight < 4; flight += 1) {
      await expect.poll(() => flights[flight]).toBeDefined();
      flights[flight]?.land();
    }
    await all;
    expect(flights.map(({ writes }) => writes)).toEqual([[1], [2, 3], [4, 5], [6]]);
  });

  it("a group commit needs no flight for a flush that answers without a promise", async () => {
    const flushed: (readonly number[])[] = [];
    const commit = createGroupCommit<number, string>((writes) => {
      flushed.push(writes);
      return writes.map(String);
    });
    expect(await Promise.all([commit.write(1), commit.write(2)])).toEqual(["1", "2"]);
    expect(flushed).toEqual([[1], [2]]);
  });

  it("a group commit fails a write alone when its result is an error", async () => {
    const flush = async (writes: readonly number[]) => writes.map((write) => (write === 2 ? new Error("two") : write));
    const commit = createGroupCommit(flush);
    const results = await Promise.allSettled([0, 1, 2, 3].map((write) => commit.write(write)));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  });

  it("a group commit fails every write of a flight that fails, and flies on with the next", async () => {
    const { flights, flush } = airport();
    const commit = createGroupCommit(flush);
    const first = commit.write(1);
    const [second, third] = [commit.write(2), commit.write(3)];
    flights[0]?.crash(new Error("lost"));
    await expect(first).rejects.toThrow("lost");
    const fourth = commit.write(4);
    flights[1]?.crash(new Error("lost as well"));
    await expect(second).rejects.toThrow("lost as well");
    await expect(third).rejects.toThrow("lost as well");
    flights[2]?.land();
    expect(await fourth).toBe("4");
  });

  it("a group commit fails the writes of a flush that throws", async () => {
    const commit = createGroupCommit<number, number>(() => {
      throw new Error("never took off");
    });
    await expect(commit.write(1)).rejects.toThrow("never took off");
    await expect(commit.write(2)).rejects.toThrow("never took off");
  });

  it("a group commit fails the writes of a flush that gives too few results", async () => {
    const commit = createGroupCommit<number, number>(() => []);
    await expect(commit.write(1)).rejects.toThrow("1 writes gave 0 results");
  });

  it("a group commit is drained when nothing is in flight and nothing waits", async () => {
    const { flights, flush } = airport();
    const commit = createGroupCommit(flush);
    await commit.drain();
    const results = Promise.all([commit.write(1), commit.write(2)]);
    let drained = false;
    const drain = commit.drain().then(() => {
      drained = true;
    });
    flights[0]?.land();
    await expect.poll(() => flights.length).toBe(2);
    expect(drained).toBe(false);
    flights[1]?.land();
    await drain;
    expect(await results).toEqual(["1", "2"]);
  });

  it("a group commit gives every write its own result, in order, however they interleave", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 20 }),
        async (s, maxWrites, count) => {
          let inFlight = 0;
          const order: number[] = [];
          const land = s.scheduleFunction(async () => {});
          const commit = createGroupCommit<number, number>(
            async (writes) => {
              inFlight += 1;
              expect(inFlight).toBe(1);
              await land();
              order.push(...writes);
              inFlight -= 1;
              return writes.map((write) => write * 2);
            },
            { maxWrites },
          );
          const numbers = Array.from({ length: count }, (_, index) => index);
          const results = s.scheduleSequence(
            numbers.map((number) => async () => void started.push(commit.write(number))),
          );
          const started: Promise<number>[] = [];
          await s.waitFor(results.task);
          await s.waitFor(commit.drain());
          expect(await Promise.all(started)).toEqual(numbers.map((number) => number * 2));
          expect(order).toEqual(numbers);
        },
      ),
    );
  });
});
