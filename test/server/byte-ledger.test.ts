import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createByteLedger, type LedgerEntry } from "../../src/server/byte-ledger.js";

const maxBytes = 1_000_000;

/** Returns what `hold` throws, if anything. */
function refusal(entry: LedgerEntry, bytes: number): unknown {
  try {
    entry.hold(bytes);
    return undefined;
  } catch (error) {
    return error;
  }
}

describe("the bytes of requests in memory", () => {
  it("the bytes of one caller's requests are limited to half of what the others leave", () => {
    const ledger = createByteLedger(maxBytes);
    ledger.open({ caller: "a" }).hold(400_000);
    const second = ledger.open({ caller: "a" });
    expect(refusal(second, 100_001)).toMatchObject({
      code: "resourceExhausted",
      metadata: { limit: "inFlightMaxBytes" },
    });
    expect(refusal(second, 100_000)).toBeUndefined();
    const other = ledger.open({ caller: "b" });
    other.hold(200_000);
    expect(refusal(ledger.open({ caller: "b" }), 50_001)).toMatchObject({ code: "resourceExhausted" });
    expect(refusal(ledger.open({ caller: "b" }), 50_000)).toBeUndefined();
  });

  it("the bytes of a caller's only request may take the whole limit, and not more", () => {
    const entry = createByteLedger(maxBytes).open({ caller: "a" });
    for (let piece = 0; piece < 10; piece++) entry.hold(100_000);
    expect(refusal(entry, 1)).toMatchObject({ code: "unavailable", retryAfterMs: 1000 });
  });

  it("the bytes of requests are free again when they are released, however often", () => {
    const ledger = createByteLedger(maxBytes);
    const entry = ledger.open({ caller: "a" });
    entry.hold(maxBytes);
    entry.release();
    entry.release();
    ledger.open({ caller: "b" }).hold(maxBytes);
  });

  it("the bytes of requests never exceed the limit, and leave room for a new caller among small requests", () => {
    const step = fc.record({
      caller: fc.constantFrom("a", "b", "c", "d"),
      bytes: fc.integer({ min: 0, max: 60_000 }),
      ends: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const ledger = createByteLedger(maxBytes);
        const open: { readonly entry: LedgerEntry; bytes: number }[] = [];
        for (const { caller, bytes, ends } of steps) {
          const request = { entry: ledger.open({ caller }), bytes };
          if (refusal(request.entry, bytes) === undefined) open.push(request);
          if (ends) open.shift()?.entry.release();
          expect(open.reduce((sum, each) => sum + each.bytes, 0)).toBeLessThanOrEqual(maxBytes);
          const newcomer = ledger.open({ caller: "new" });
          expect(refusal(newcomer, 60_000)).toBeUndefined();
          newcomer.release();
        }
        for (const { entry } of open) entry.release();
        expect(refusal(ledger.open({ caller: "last" }), maxBytes)).toBeUndefined();
      }),
    );
  });
});
