import { expect, it } from "vitest";
import { buildUuid, randomUuid } from "../../../src/protocol/id/random-uuid.js";

it.each([
  { where: "anywhere", make: randomUuid },
  { where: "on a page that is not secure", make: buildUuid },
])("a random UUID $where has its version and its variant, and does not repeat", ({ make }) => {
  const made = Array.from({ length: 500 }, make);
  for (const uuid of made) expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(new Set(made).size).toBe(500);
});
