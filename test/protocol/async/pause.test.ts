import { describe, expect, it } from "vitest";
import { pause, unlessAborted, within } from "../../../src/protocol/async/pause.js";
import { createTestClock } from "../../../src/testing/test-clock.js";

const never = new Promise<never>(() => {});

describe("a pause", () => {
  it("a pause ends with its time", async () => {
    const clock = createTestClock();
    let isOver = false;
    const paused = pause(clock, 10, new AbortController().signal).then(() => {
      isOver = true;
    });
    await clock.advance(9);
    expect(isOver).toBe(false);
    await clock.advance(1);
    await paused;
  });

  it.each(["before it begins", "while it lasts"])("a pause is cut short by any signal that aborts %s", async (when) => {
    const clock = createTestClock();
    const caller = new AbortController();
    const reason = new Error("enough");
    if (when === "before it begins") caller.abort(reason);
    const paused = pause(clock, 10, undefined, new AbortController().signal, caller.signal);
    caller.abort(reason);
    await expect(paused).rejects.toBe(reason);
    expect(clock.pending()).toEqual([]);
  });
});

describe("a wait", () => {
  it("a wait with a time limit ends with what it waits for, or at the limit", async () => {
    const clock = createTestClock();
    await within(clock, 10, Promise.resolve());
    expect(clock.pending()).toEqual([]);
    const late = within(clock, 10, never);
    await clock.advance(10);
    await late;
  });

  it("a wait is left when the signal aborts", async () => {
    const caller = new AbortController();
    expect(await unlessAborted(Promise.resolve("answer"), caller.signal)).toBe("answer");
    const left = unlessAborted(never, caller.signal);
    caller.abort(new Error("enough"));
    await expect(left).rejects.toThrow("enough");
    await expect(unlessAborted(never, caller.signal)).rejects.toThrow("enough");
  });
});
