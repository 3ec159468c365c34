import { describe, expect, it } from "vitest";
import { working } from "../../src/protocol/events.js";
import { startHandler } from "../support/handler.js";
import { errorOf } from "../support/say.js";
import { settle } from "../support/virtual-clock.js";

const kibibyte = 1024;

describe("the messages that wait for a turn", () => {
  it("take at most the limit of bytes, and each owner half of the rest", async () => {
    await using served = startHandler({
      limits: { turnsPerProcess: 1, turnWaitMaxBytes: 1000 * kibibyte },
      async agent({ emit, signal }) {
        await emit(working());
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      },
    });
    const refusedAtOnce: string[] = [];
    const refused: Promise<unknown>[] = [];
    const send = (owner: string, bytes: number): void => {
      let isAtOnce = true;
      const caller = { principal: { owner } };
      const configuration = { returnImmediately: true };
      refused.push(
        errorOf(served.send("x".repeat(bytes), { configuration }, caller)).then(() => {
          if (isAtOnce) refusedAtOnce.push(owner);
        }),
      );
      served.clock.after(1, () => {
        isAtOnce = false;
      });
    };
    await served.send("go", { configuration: { returnImmediately: true } });
    for (let count = 0; count < 6; count++) send("alice", 100 * kibibyte);
    for (let count = 0; count < 4; count++) send("bob", 100 * kibibyte);
    // One send of an owner may always wait.
    send("carol", 2000 * kibibyte);
    await settle();
    const count = (owner: string) => refusedAtOnce.filter((each) => each === owner).length;
    expect([count("alice"), count("bob"), count("carol")]).toEqual([2, 2, 0]);
    await served.clock.advance(2000);
    expect(await Promise.all(refused)).toHaveLength(11);
  });
});
