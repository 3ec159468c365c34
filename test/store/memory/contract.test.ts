import { describe, it } from "vitest";
import { systemClock } from "../../../src/protocol/async/system-clock.js";
import { memoryPushStore } from "../../../src/store/memory/push-store.js";
import { memoryRates } from "../../../src/store/memory/rates.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { pushStoreContract } from "../../../src/testing/contract/push-store.js";
import { rateStoreContract } from "../../../src/testing/contract/rate-store.js";
import { taskStoreContract } from "../../../src/testing/contract/task-store.js";
import { createTestClock } from "../../../src/testing/test-clock.js";
import { tries } from "../../support/tries.js";

describe("the task store in memory", () => {
  const make = async () => {
    const clock = createTestClock();
    return { store: memoryTaskStore({ clock }), advance: (ms: number) => clock.advance(ms) };
  };
  for (const { name, run } of taskStoreContract(make, { histories: tries(100, 300) })) it(name, run);
});

describe("the task store in memory, by the machine's clock, whose writes take a moment", () => {
  const make = async () => ({ store: memoryTaskStore({ beforeFlush: () => Promise.resolve() }) });
  for (const { name, run } of taskStoreContract(make, { histories: 20 })) it(name, run);
});

describe("the push store in memory", () => {
  for (const { name, run } of pushStoreContract(async () => ({ store: memoryPushStore() }))) it(name, run);
});

describe("the limits in memory", () => {
  const make = async () => {
    const clock = createTestClock();
    const rates = memoryRates(clock);
    return { here: rates, there: rates, advance: (ms: number) => clock.advance(ms) };
  };
  for (const { name, run } of rateStoreContract(make, { histories: tries(100, 1000) })) it(name, run);
});

describe("the limits in memory, by the machine's clock", () => {
  const rates = memoryRates(systemClock);
  for (const { name, run } of rateStoreContract(async () => ({ here: rates, there: rates }))) it(name, run);
});
