import { expect, it } from "vitest";
import { handlerFor } from "../../src/binding/server-call.js";
import { handlerOf } from "../support/echo-service.js";

const agentOf = () => ({ handler: handlerOf({}), taskNames: { find: async () => undefined } });

it("an adapter that two agents share serves each its own handler, created once", () => {
  const adapter = { serve: (handler: ReturnType<typeof handlerOf>) => ({ ...handler }) };
  const [one, other] = [agentOf(), agentOf()];
  const made = handlerFor(adapter, one);
  expect(made.getTask).toBe(one.handler.getTask);
  expect(handlerFor(adapter, other).getTask).toBe(other.handler.getTask);
  expect(handlerFor(adapter, one)).toBe(made);
  expect(handlerFor({}, one)).toBe(one.handler);
});
