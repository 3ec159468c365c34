import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { createByteLedger } from "../../src/server/byte-ledger.js";
import { UnsentBudget } from "../../src/server/unsent-budget.js";

const from = (address: string | undefined) => ({ peer: () => address });

it("the budget of unsent bytes refuses a network whose share is full, in this turn of the event loop", async () => {
  const room = new UnsentBudget(createByteLedger(1000));
  room.check(from("2001:db8::1"));
  room.open("2001:db8::1").refuse();
  const error = expect.objectContaining({
    code: "resourceExhausted",
    retryAfterMs: 1000,
    metadata: { limit: "inFlightMaxBytes" },
  });
  // Another address of one network.
  expect(() => room.check(from("2001:db8::2"))).toThrow(error);
  room.check(from("2001:db8:0:1::1"));
  room.check(from(undefined));
  await nextTurn();
  room.check(from("2001:db8::1"));
});
