import { expect, it } from "vitest";
import { createStepStream, endStep, type Step } from "../../../src/protocol/async/steps.js";

it("a stream by hand is read with for await, and left by a break", async () => {
  let left = 0;
  let count = 0;
  const next = async (): Promise<Step<number>> => ({ done: false, value: ++count });
  const leave = async () => {
    left += 1;
  };
  for await (const item of createStepStream(next, leave)) if (item === 3) break;
  expect([count, left]).toEqual([3, 1]);
});

it("a stream by hand can be left while it waits, and asks for nothing more then", async () => {
  const { promise, resolve } = Promise.withResolvers<Step<string>>();
  let openCount = 0;
  const stream = createStepStream(
    () => {
      openCount += 1;
      return promise;
    },
    async () => resolve(endStep),
  );
  const waiting = stream.next();
  expect(await stream.return()).toEqual(endStep);
  expect(await waiting).toEqual(endStep);
  expect(await stream.next()).toEqual(endStep);
  expect(openCount).toBe(1);
});
