import { expect, it } from "vitest";
import { silentLogger } from "../../src/protocol/logger.js";
import { LaneMap } from "../../src/push/attempt-scheduler.js";
import { CircuitBreaker } from "../../src/push/circuit-breaker.js";
import { defaultPushLimits } from "../../src/push/limits.js";
import { createVirtualClock } from "../support/virtual-clock.js";

it("lanes of webhooks without calls are kept up to a thousand, the least recently used dropped first", () => {
  const lanes = new LaneMap((origin) => {
    const callbacks = { onPause: () => {}, onReady: () => {} };
    const parts = { clock: createVirtualClock(), logger: silentLogger, random: Math.random };
    return new CircuitBreaker({ origin, limits: defaultPushLimits, ...parts, ...callbacks });
  });
  const use = (index: number): void =>
    lanes.settle(lanes.use({ owner: `owner ${index}`, origin: "https://hook.example" }));
  for (let index = 0; index < 1000; index++) use(index);
  use(0);
  use(1000);
  const isKept = (index: number) =>
    lanes.lane({ owner: `owner ${index}`, origin: "https://hook.example" }) !== undefined;
  expect([0, 1, 2, 1000].map(isKept)).toEqual([true, false, true, true]);
  expect(lanes.target("https://hook.example")?.lanes.size).toBe(1000);
});
