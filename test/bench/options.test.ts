import { describe, expect, it } from "vitest";
import { optionsOf } from "../../bench/options.ts";

describe("the options of a run of the benchmarks", () => {
  it("the benchmarks measure floor, ours and both official SDKs by default", () => {
    expect(optionsOf([])).toMatchObject({
      sides: ["floor", "ours", "peer", "go"],
      effort: { rounds: 5, quick: false },
    });
    expect(optionsOf(["--quick"]).effort).toEqual({ rounds: 2, quick: true });
  });

  it("the benchmarks measure ours beside another build in as many rounds as an interval takes", () => {
    const beside = optionsOf(["--before", "old/dist"]);
    expect(beside).toMatchObject({ before: "old/dist", sides: ["ours", "before"], effort: { rounds: 12 } });
    expect(optionsOf(["--before", "old/dist", "--quick"]).effort.rounds).toBe(6);
    expect(optionsOf(["--before", "old/dist", "--sides", "peer"]).sides).toEqual(["ours", "before", "peer"]);
  });

  it.each([
    [["--before", "old/dist", "--rounds", "5"], "--rounds 5: a whole number of 6 or more is wanted"],
    [["--rounds", "many"], "--rounds many: a whole number of 1 or more is wanted"],
    [["--sides", "ours,before"], "--sides before: name the build to compare with by --before DIST"],
    [["--sides", "ours,theirs"], "--sides theirs: the sides are floor, ours, before, peer, go"],
  ])("refuse %j", (args, message) => {
    expect(() => optionsOf(args)).toThrow(message);
  });
});
