import { expect, it } from "vitest";
import { createIdleCounter } from "../../../src/protocol/async/idle-counter.js";

it("an idle counter is idle when everything that has entered has left, each once", async () => {
  const counter = createIdleCounter();
  await counter.idle();
  const [first, second] = [counter.enter(), counter.enter()];
  let isIdle = false;
  const idle = counter.idle().then(() => {
    isIdle = true;
  });
  first();
  first();
  await Promise.resolve();
  expect([counter.count, isIdle]).toEqual([1, false]);
  second();
  await idle;
  await counter.idle();
});
