import { describe, expect, it } from "vitest";
import {
  addressPolicy,
  allowedAddresses,
  clientPolicy,
  ForbiddenAddressError,
} from "../../../src/binding/fetch/address-policy.js";
import { isLoopback } from "../../../src/protocol/loopback.js";

const places = ["127.0.0.1", "[::1]", "localhost", "10.0.0.7", "169.254.169.254", "[fd00::7]", "8.8.8.8", "a.example"];

describe("the policy of a client", () => {
  const policies = {
    "by default": clientPolicy({ cardHost: "agents.example" }),
    "by default, with a card of this machine": clientPolicy({ cardHost: "127.0.0.1" }),
    "with allowPrivate: false": clientPolicy({ allowPrivate: false, cardHost: "127.0.0.1" }),
    "by default, with a card of a private address": clientPolicy({ cardHost: "10.0.0.7" }),
    "with allowPrivate: true": clientPolicy({ allowPrivate: true, cardHost: "agents.example" }),
  };
  const internet = ["8.8.8.8", "a.example"];
  it.each<[keyof typeof policies, readonly string[]]>([
    ["by default", internet],
    ["by default, with a card of this machine", ["127.0.0.1", "[::1]", "localhost", ...internet]],
    ["by default, with a card of a private address", ["10.0.0.7", ...internet]],
    ["with allowPrivate: false", internet],
    ["with allowPrivate: true", places],
  ])("the address policy, %s, lets through %j", (name, allowed) => {
    expect(places.filter((place) => policies[name].host(place) !== "forbidden")).toEqual(allowed);
  });

  it("the address policy checks the addresses that names resolve to", () => {
    const addresses = ["127.0.0.1", "::ffff:127.0.0.1", "10.0.0.7", "8.8.8.8", "nonsense"];
    const judged = Object.values(policies).map(({ address }) => addresses.map(address));
    expect(judged).toEqual([
      [false, false, false, true, false],
      [true, true, false, true, false],
      [false, false, false, true, false],
      // A name may resolve to another address next time, so only literal addresses are allowed.
      [false, false, false, true, false],
      [true, true, true, true, false],
    ]);
  });
});

describe("the addresses to connect to", () => {
  it("the addresses to connect to are looked up and judged, all of them", async () => {
    const policy = addressPolicy(["10.0.0.0/8", "known.example"], "test.allow");
    const of = (host: string, ...addresses: string[]) => allowedAddresses(host, policy, async () => addresses);
    expect(await of("a.example", "10.0.0.7", "10.0.0.8")).toEqual(["10.0.0.7", "10.0.0.8"]);
    expect(await of("known.example", "192.168.0.1")).toEqual(["192.168.0.1"]);
    expect(await of("10.0.0.9", "nowhere")).toEqual(["10.0.0.9"]);
    for (const refused of [of("a.example", "10.0.0.7", "8.8.8.8"), of("a.example"), of("8.8.8.8", "10.0.0.7")]) {
      await expect(refused).rejects.toBeInstanceOf(ForbiddenAddressError);
    }
    await expect(of("a.example", "8.8.8.8")).rejects.toThrow(
      /^a\.example may not be called, only what is listed \(test\.allow\)$/,
    );
  });

  it("the addresses to connect to are the system's by default", async () => {
    const addresses = await allowedAddresses("localhost", addressPolicy("loopback", "test"));
    expect(addresses.every((address) => isLoopback(address))).toBe(true);
  });
});

it("the address policy names its option when it is unclear", () => {
  expect(() => addressPolicy([], "client.allow")).toThrow(/^client\.allow must be/);
  expect(() => addressPolicy(["*"], "client.allow")).toThrow(/^client\.allow: "\*" is neither a host name/);
});
