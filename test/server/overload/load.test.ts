import { describe, expect, it } from "vitest";
import { defaultOverloadLimits, type OverloadLimits } from "../../../src/server/overload/limits.js";
import { createLoad } from "../../../src/server/overload/load.js";
import { recordingLogger } from "../../support/recording-logger.js";
import { createVirtualClock } from "../../support/virtual-clock.js";

const measureMs = 251;

/** A load over a heap and an event loop that a test sets. The heap is 64 MiB large. */
function measured(limits: Partial<OverloadLimits> = {}) {
  const clock = createVirtualClock();
  const { log, logger } = recordingLogger();
  const readings = { heap: 0, container: 0, roundMs: 0, pauseMs: 0, reads: 0 };
  let collected: (() => void) | undefined;
  const load = createLoad({
    // The timer of one millisecond fires when a round of the event loop has passed.
    clock: { ...clock, after: (ms, run) => clock.after(ms + (ms === 1 ? readings.roundMs : readings.pauseMs), run) },
    limits: { ...defaultOverloadLimits, ...limits },
    logger,
    memories: {
      heap: {
        size: 64 << 20,
        read: () => {
          readings.reads += 1;
          return readings.heap;
        },
        watch(listener) {
          collected = listener;
          return () => {
            collected = undefined;
          };
        },
      },
      container: { size: 128 << 20, read: () => readings.container },
    },
  });
  if (load === undefined) throw new Error("nothing is measured");
  return {
    clock,
    load,
    log,
    readings,
    collect: () => collected?.(),
    isWatching: () => collected !== undefined,
    /** Sends a message and says whose sends are refused. */
    refuses: () => load.overload()?.refuses ?? "none",
    measure: (count = 1) => clock.advance(count * (measureMs + readings.roundMs)),
  };
}

describe("the heap", () => {
  it("the measure of the heap refuses all sends at its limit, and excess from 0.85 of the limit on", () => {
    const { load, refuses, readings, collect } = measured();
    expect(refuses()).toBe("none");
    readings.heap = 0.59;
    collect();
    expect(refuses()).toBe("none");
    readings.heap = 0.6;
    collect();
    expect(refuses()).toBe("excess");
    expect(load.overload()?.refuse()).toMatchObject({
      code: "unavailable",
      message:
        "the server is overloaded: 60 % of the heap is in use, the limit is 70 % (heapMaxRatio), and this caller has more than its share of the running turns",
      retryAfterMs: 2000,
      metadata: { limit: "heapMaxRatio" },
    });
    readings.heap = 0.7;
    collect();
    expect(refuses()).toBe("all");
    expect(load.overload()?.refuse().message).toBe(
      "the server is overloaded: 70 % of the heap is in use, the limit is 70 % (heapMaxRatio)",
    );
    expect(load.refusals).toEqual({ heapMaxRatio: 2, containerMaxRatio: 0, eventLoopMaxMs: 0 });
  });

  it("the measure of the heap takes sends again after five measurements in a row clearly below", async () => {
    const { refuses, readings, collect, measure } = measured();
    refuses();
    readings.heap = 0.72;
    collect();
    readings.heap = 0.5;
    await measure(4);
    expect(refuses()).toBe("all");
    readings.heap = 0.68;
    await measure();
    readings.heap = 0.5;
    await measure(4);
    expect(refuses()).toBe("all");
    await measure();
    expect(refuses()).toBe("none");
  });

  it("the heap is measured again once a 64th of it has been booked, and large requests are then refused", () => {
    const { load, refuses, readings } = measured();
    refuses();
    readings.heap = 0.9;
    load.noteBytes((1 << 20) - 1 - 0);
    load.checkRequest(1 << 20);
    load.noteBytes(1);
    expect(refuses()).toBe("all");
    load.checkRequest(64 << 10);
    expect(() => load.checkRequest((64 << 10) + 1)).toThrow("90 % of the heap is in use");
  });

  it("the heap is not measured when the measure is switched off", () => {
    const { refuses, readings, collect } = measured({ heapMaxRatio: false });
    refuses();
    readings.heap = 1;
    collect();
    expect(refuses()).toBe("none");
    readings.container = 0.9;
    collect();
    expect(readings.reads).toBe(0);
  });
});

it("the measure of the container's memory refuses sends by its own limit", async () => {
  const { load, refuses, readings, measure } = measured();
  refuses();
  readings.container = 0.86;
  await measure();
  expect(refuses()).toBe("none");
  readings.container = 0.9;
  await measure();
  expect(refuses()).toBe("all");
  expect(load.overload()?.refuse()).toMatchObject({
    message:
      "the server is overloaded: 90 % of the container's memory is in use, the limit is 90 % (containerMaxRatio)",
    metadata: { limit: "containerMaxRatio" },
  });
});

describe("the event loop", () => {
  it("the measure of the event loop refuses sends after five long rounds, not after one computation", async () => {
    const { load, refuses, readings, measure } = measured();
    refuses();
    await measure(5);
    for (let computation = 0; computation < 5; computation++) {
      readings.roundMs = 10_000;
      await measure();
      readings.roundMs = 0;
      await measure(4);
      expect(refuses()).toBe("none");
    }
    await measure();
    readings.roundMs = 1200;
    await measure(4);
    expect(refuses()).toBe("none");
    await measure();
    expect(refuses()).toBe("all");
    expect(load.overload()?.refuse()).toMatchObject({
      message:
        "the server is overloaded: a round of the event loop takes 1200 ms, the limit is 1000 ms (eventLoopMaxMs)",
      metadata: { limit: "eventLoopMaxMs" },
    });
    // Enough memory is left for large requests of reads.
    load.checkRequest(1 << 20);
  });

  it.each([
    { roundMs: 5000, rounds: 2 },
    { roundMs: 3000, rounds: 2 },
    { roundMs: 2400, rounds: 3 },
    { roundMs: 1300, rounds: 4 },
  ])(
    "the measure of the event loop refuses all sends after $rounds rounds of $roundMs ms, five times the limit",
    async ({ roundMs, rounds }) => {
      const { load, refuses, readings, measure } = measured();
      refuses();
      await measure(5);
      readings.roundMs = roundMs;
      await measure(rounds - 1);
      expect(refuses()).toBe("none");
      await measure();
      expect(refuses()).toBe("all");
      expect(load.overload()?.refuse().message).toContain(`takes ${roundMs} ms, the limit is 1000 ms`);
      readings.roundMs = 0;
      await measure(4);
      expect(refuses()).toBe("all");
      await measure();
      expect(refuses()).toBe("none");
    },
  );

  it("the measure of the event loop counts rounds that delay the pause between two measurements", async () => {
    const { clock, refuses, readings, measure } = measured();
    refuses();
    await measure(5);
    readings.pauseMs = 3000;
    await measure();
    readings.roundMs = 3000;
    await clock.advance(250 + 3000);
    expect(refuses()).toBe("none");
    await clock.advance(1 + 3000);
    expect(refuses()).toBe("all");
  });

  it("the measure of the event loop refuses excess from half of the limit until five short rounds", async () => {
    const { refuses, readings, measure } = measured();
    refuses();
    readings.roundMs = 499;
    await measure(5);
    expect(refuses()).toBe("none");
    readings.roundMs = 500;
    await measure(5);
    expect(refuses()).toBe("excess");
    readings.roundMs = 100;
    await measure(4);
    expect(refuses()).toBe("excess");
    await measure();
    expect(refuses()).toBe("none");
  });
});

it("an overload is logged by one record when it begins and one when it ends", async () => {
  const { load, log, refuses, readings, collect, measure } = measured();
  refuses();
  readings.heap = 0.65;
  collect();
  readings.heap = 0.75;
  collect();
  await measure(8);
  for (let send = 0; send < 3; send++) load.overload()?.refuse();
  readings.heap = 0.1;
  await measure(6);
  expect(log).toEqual([
    {
      level: "warn",
      fields: { limit: "heapMaxRatio", seen: "65 % of the heap is in use, the limit is 70 % (heapMaxRatio)" },
      message: "the server is overloaded and refuses sends",
    },
    {
      level: "info",
      fields: { overloadedMs: 13 * measureMs, refused: 3 },
      message: "the server takes all sends again",
    },
  ]);
});

it("the load is not measured while no calls come, nor once it is closed", async () => {
  const { clock, load, refuses, isWatching, measure } = measured();
  expect(clock.pending()).toEqual([]);
  refuses();
  expect(isWatching()).toBe(true);
  await measure(30);
  expect([clock.pending(), isWatching()]).toEqual([[], false]);
  refuses();
  expect(clock.pending()).toHaveLength(1);
  load.close();
  expect([clock.pending(), isWatching()]).toEqual([[], false]);
  refuses();
  expect(clock.pending()).toEqual([]);
});

it("there is no load to ask when all measures are switched off", () => {
  const { logger } = recordingLogger();
  const limits = {
    ...defaultOverloadLimits,
    heapMaxRatio: false,
    containerMaxRatio: false,
    eventLoopMaxMs: false,
  } as const;
  expect(createLoad({ clock: createVirtualClock(), limits, logger })).toBeUndefined();
});
