import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createVirtualClock } from "./virtual-clock.js";

describe("a virtual clock", () => {
  it("a virtual clock does not move until advanced", async () => {
    const clock = createVirtualClock(100);
    expect(clock.now()).toBe(100);
    await clock.advance(50);
    expect(clock.now()).toBe(150);
  });

  it("a virtual clock runs timers in the order in which they are due, each at its time", async () => {
    const clock = createVirtualClock(0);
    const ran: string[] = [];
    for (const [name, ms] of [
      ["c", 30],
      ["a", 10],
      ["b1", 20],
      ["b2", 20],
      ["later", 31],
    ] as const) {
      clock.after(ms, () => ran.push(`${name}@${clock.now()}`));
    }
    expect(clock.pending()).toEqual([10, 20, 20, 30, 31]);
    await clock.advance(30);
    expect(ran).toEqual(["a@10", "b1@20", "b2@20", "c@30"]);
    expect(clock.pending()).toEqual([31]);
  });

  it("a virtual clock runs timers that are set while it advances, also by asynchronous work", async () => {
    const clock = createVirtualClock(0);
    const ran: number[] = [];
    const tick = async (): Promise<void> => {
      await setImmediate();
      ran.push(clock.now());
      clock.after(10, () => void tick());
    };
    void tick();
    await clock.advance(30);
    expect(ran).toEqual([0, 10, 20, 30]);
  });

  it("a virtual clock does not run a canceled timer", async () => {
    const clock = createVirtualClock();
    let ran = false;
    clock.after(10, () => {
      ran = true;
    })();
    await clock.advance(10);
    expect(ran).toBe(false);
    expect(clock.pending()).toEqual([]);
  });
});
