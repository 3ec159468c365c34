import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/protocol/async/system-clock.js";

describe("the machine's clock", () => {
  it("the machine's clock returns the current time", () => {
    const before = Date.now();
    const now = systemClock.now();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
  });

  it("the machine's clock calls once after the time has passed, and not if it was canceled", async () => {
    const called: string[] = [];
    await new Promise<void>((resolve) => {
      const takeBack = systemClock.after(1, () => called.push("taken back"));
      systemClock.after(1, () => called.push("called"));
      systemClock.after(20, resolve);
      takeBack();
    });
    expect(called).toEqual(["called"]);
  });

  it("the machine's clock waits longer than a timer of Node can, and is not early", async () => {
    let called = false;
    const takeBack = systemClock.after(2 ** 31 + 5, () => {
      called = true;
    });
    await new Promise<void>((resolve) => systemClock.after(20, resolve));
    takeBack();
    expect(called).toBe(false);
  });
});
