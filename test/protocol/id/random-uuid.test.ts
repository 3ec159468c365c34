import { expect, it } from "vitest";
import { buildUuid, randomUuid } from "../../../src/protocol/id/random-uuid.js";

it.each([
  { page: "anywhere", make: randomUuid },
  { page: "on a page that is not secure", make: buildUuid },
])("a random UUID $page has its version and its variant, and does not repeat", ({ make }) => {
  const uuids = Array.from({ length: 500 }, make);
  for (const uuid of uuids) expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(new Set(uuids).size).toBe(500);
});
