import { setImmediate as tick } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createGroupCommit } from "../../src/store/group-commit.js";

/** A gathering group commit whose flushes end on request. */
function gathered() {
  const flights: { readonly writes: readonly string[]; land(fault?: Error): void }[] = [];
  const flush = (writes: readonly string[]) => {
    const back = Promise.withResolvers<void>();
    flights.push({ writes, land: (fault) => (fault === undefined ? back.resolve() : back.reject(fault)) });
    return back.promise.then(() =>
      writes.map((write) => (write === "bad" ? new Error("a bad write") : write.toUpperCase())),
    );
  };
  const gather = createGroupCommit<string, string>(flush, { gather: true });
  return { gather, flights };
}

describe("writes of a group commit that gathers", () => {
  it("a gathering group commit flushes writes of one tick together, later ones after that flush", async () => {
    const { gather, flights } = gathered();
    const first = ["a", "b", "c"].map((write) => gather.write(write));
    expect(flights).toHaveLength(0);
    await tick();
    const later = [gather.write("d")];
    await tick();
    later.push(gather.write("e"));
    await tick();
    expect(flights.map(({ writes }) => writes)).toEqual([["a", "b", "c"]]);
    flights[0]?.land();
    expect(await Promise.all(first)).toEqual(["A", "B", "C"]);
    await expect.poll(() => flights[1]?.writes).toEqual(["d", "e"]);
    flights[1]?.land();
    expect(await Promise.all(later)).toEqual(["D", "E"]);
  });

  it("in a gathering group commit, writes of callers that a flush has answered join the next flush", async () => {
    const { gather, flights } = gathered();
    const chain = gather.write("a").then(() => gather.write("a2"));
    await tick();
    const other = gather.write("b");
    await tick();
    flights[0]?.land();
    await expect.poll(() => flights[1]?.writes).toEqual(["b", "a2"]);
    flights[1]?.land();
    expect(await Promise.all([chain, other])).toEqual(["A2", "B"]);
  });

  it("a gathering group commit fails a refused write alone, and all where the flight is lost", async () => {
    const { gather, flights } = gathered();
    const mixed = Promise.allSettled([gather.write("good"), gather.write("bad")]);
    await tick();
    flights[0]?.land();
    expect((await mixed).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    const results = Promise.allSettled([gather.write("x"), gather.write("y")]);
    await expect.poll(() => flights.length).toBe(2);
    flights[1]?.land(new Error("no connection"));
    expect((await results).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    const after = gather.write("z");
    await expect.poll(() => flights.length).toBe(3);
    flights[2]?.land();
    expect(await after).toBe("Z");
  });

  it("a gathering group commit makes more than one flight of very many writes, in their order", async () => {
    const { gather, flights } = gathered();
    const writes = Array.from({ length: 2_500 }, (_, index) => `w${index}`);
    const results = Promise.all(writes.map((write) => gather.write(write)));
    for (const index of [0, 1, 2]) {
      await expect.poll(() => flights.length).toBe(index + 1);
      flights[index]?.land();
    }
    expect(await results).toEqual(writes.map((write) => write.toUpperCase()));
    expect(flights.map((flight) => flight.writes.length)).toEqual([1_000, 1_000, 500]);
  });

  it("the drain of a gathering group commit waits for all writes, including those not flushed yet", async () => {
    const { gather, flights } = gathered();
    const results: string[] = [];
    const first = gather.write("a").then((result) => results.push(result));
    let drained = false;
    const drain = gather.drain().then(() => {
      drained = true;
    });
    await tick();
    const second = gather.write("b").then((result) => results.push(result));
    await tick();
    flights[0]?.land();
    await expect.poll(() => flights.length).toBe(2);
    expect(drained).toBe(false);
    flights[1]?.land();
    await Promise.all([drain, first, second]);
    expect(results).toEqual(["A", "B"]);
  });
});
