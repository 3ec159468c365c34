import { expect, it } from "vitest";
import { TokenCache } from "../../../src/auth/schemes/token-cache.js";
import { createTestClock } from "../../../src/testing/test-clock.js";

const minute = 60_000;

/** A cache whose checks are counted by token. */
function counting(expiresAt = Number.POSITIVE_INFINITY) {
  const clock = createTestClock({ start: 0 });
  const cache = new TokenCache(clock, 5 * minute);
  const checks = new Map<string, number>();
  const identify = (token: string) =>
    cache.identify(token, async (bearer) => {
      checks.set(bearer, (checks.get(bearer) ?? 0) + 1);
      const identity = { subject: bearer };
      cache.set(bearer, identity, expiresAt);
      return identity;
    });
  return { clock, checks, identify };
}

it("the token cache believes a token for its time, and no token that differs by one character", async () => {
  const { clock, checks, identify } = counting();
  const identity = await identify("aBc=");
  for (const other of ["abc=", "aBc", "aBc ", "aBc=="]) expect(await identify(other)).toEqual({ subject: other });
  expect(identify("aBc=")).toBe(identity);
  await clock.advance(5 * minute - 1);
  expect(identify("aBc=")).toBe(identity);
  await clock.advance(1);
  expect(await identify("aBc=")).toEqual(identity);
  expect(checks.get("aBc=")).toBe(2);
});

it("the token cache believes no token longer than it lives", async () => {
  const { clock, checks, identify } = counting(minute);
  await identify("t");
  await clock.advance(minute);
  await identify("t");
  expect(checks.get("t")).toBe(2);
});

it.each([
  ["many", 8, 5000],
  ["long", 8192, 1024],
])("the token cache forgets %s tokens by the generation", async (_, length, generation) => {
  const { checks, identify } = counting();
  const tokenOf = (place: number): string => `${place}`.padStart(length, "0");
  for (let place = 0; place < 2 * generation; place++) await identify(tokenOf(place));
  await identify(tokenOf(0));
  expect(checks.get(tokenOf(0))).toBe(1);
  await identify(tokenOf(2 * generation));
  await identify(tokenOf(0));
  expect(checks.get(tokenOf(0))).toBe(2);
  await identify(tokenOf(2 * generation));
  expect(checks.get(tokenOf(2 * generation))).toBe(1);
});
