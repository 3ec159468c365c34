import { createTestClock, type TestClock } from "../../src/testing/test-clock.js";

export { settle, turnUntil } from "../../src/testing/test-clock.js";

/** A clock that stands still until a test advances it. */
export type VirtualClock = TestClock;

export function createVirtualClock(start?: number, settleWork?: () => Promise<void>): VirtualClock {
  return createTestClock({ start, settled: settleWork });
}
