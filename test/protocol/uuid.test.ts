import { expect, it } from "vitest";
import { randomUuid } from "../../src/protocol/uuid.js";

it("a random UUID has its version and its variant, and comes once", () => {
  const made = Array.from({ length: 500 }, randomUuid);
  for (const uuid of made) expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(new Set(made).size).toBe(500);
});
