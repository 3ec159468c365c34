import { describe, expect, it } from "vitest";
import { Presence } from "../../../src/store/postgres/signals.js";
import { createVirtualClock } from "../../support/virtual-clock.js";

/** Longer than a lone process needs to notice that it is alone. */
const longMs = 30_000;

function process() {
  const clock = createVirtualClock();
  const words: string[] = [];
  return { clock, words, presence: new Presence(clock, (word) => words.push(word)) };
}

describe("a process on PostgreSQL", () => {
  it("a process on PostgreSQL assumes other processes until none has answered", async () => {
    const { clock, words, presence } = process();
    expect(presence.others).toBe(true);
    presence.announce();
    expect(words).toEqual(["who"]);
    await clock.advance(longMs);
    expect(presence.others).toBe(false);
  });

  it("a process on PostgreSQL knows that there are no others once it cannot hear them", () => {
    const { presence } = process();
    presence.close();
    expect(presence.others).toBe(false);
  });

  it("a process on PostgreSQL remembers another one while it sends heartbeats, and for a while after", async () => {
    const { clock, presence } = process();
    presence.announce();
    presence.receive("here");
    for (let elapsed = 0; elapsed < 10; elapsed += 1) {
      await clock.advance(5_000);
      expect(presence.others).toBe(true);
      presence.receive("here");
    }
    await clock.advance(9_000);
    expect(presence.others).toBe(true);
    await clock.advance(longMs);
    expect(presence.others).toBe(false);
  });

  it("a process that is alone on PostgreSQL notices a new one, and answers it", async () => {
    const { clock, words, presence } = process();
    presence.announce();
    await clock.advance(longMs);
    words.length = 0;
    presence.receive("who");
    expect(presence.others).toBe(true);
    expect(words).toEqual(["here"]);
  });

  it("a process on PostgreSQL assumes others after it has reconnected, and reports none once closed", async () => {
    const { clock, words, presence } = process();
    presence.announce();
    await clock.advance(longMs);
    presence.announce();
    expect(presence.others).toBe(true);
    presence.close();
    words.length = 0;
    await clock.advance(longMs);
    expect(words).toEqual([]);
  });
});
