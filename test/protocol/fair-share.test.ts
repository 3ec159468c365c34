import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Scope } from "../../src/protocol/context.js";
import { exceedsShare, ownerKey, scopeKey } from "../../src/protocol/fair-share.js";

describe("the key of an owner", () => {
  it("the key of an owner is another one for each tenant and owner, whatever their texts have", () => {
    const scopes = [
      { tenant: "", owner: "a\nb" },
      { tenant: "a", owner: "b" },
      { tenant: "a\nb", owner: "" },
      { tenant: "", owner: "\na\nb" },
      { tenant: "\na", owner: "b" },
      { tenant: "1", owner: " a" },
      { tenant: "", owner: "1 1 a" },
    ];
    const keys = scopes.map((scope) => ownerKey(scope));
    expect(new Set(keys).size).toBe(scopes.length);
  });

  it("the key of an owner is the same at each agent", () => {
    const [a, b]: [Scope, Scope] = [
      { agent: "/a", tenant: "t", owner: "o" },
      { agent: "/b", tenant: "t", owner: "o" },
    ];
    expect(ownerKey(a)).toBe(ownerKey(b));
    expect(scopeKey(a)).not.toBe(scopeKey(b));
  });

  it("the key of an owner is the same for no tenant and an empty one", () => {
    expect(ownerKey({ owner: "o" })).toBe(ownerKey({ tenant: "", owner: "o" }));
  });
});

describe("no two different scopes have one key", () => {
  // Few characters, among them those of the keys themselves, so that many pairs nearly collide.
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom("0", "1", "2", " ", "\n", '"', ",", "a") }),
    fc.string({ unit: "binary" }),
  );
  const scope = fc.record({ agent: text, tenant: text, owner: text });
  // Another one of the same characters in the same order, cut elsewhere.
  const recut = fc.tuple(scope, fc.nat(), fc.nat()).map(([{ agent, tenant, owner }, first, second]) => {
    const all = agent + tenant + owner;
    const [from, to] = [first % (all.length + 1), second % (all.length + 1)].toSorted((a, b) => a - b);
    const other = { agent: all.slice(0, from), tenant: all.slice(from, to), owner: all.slice(to) };
    return [{ agent, tenant, owner }, other] as const;
  });
  // One whose text is the key of another.
  const nested = scope.map((one) => [one, { agent: "", tenant: "", owner: scopeKey(one) }] as const);
  const pair = fc.oneof(fc.tuple(scope, scope), recut, nested);

  it("no two different scopes of agent, tenant and owner have one key", () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const isSame = a.agent === b.agent && a.tenant === b.tenant && a.owner === b.owner;
        expect(scopeKey(a) === scopeKey(b)).toBe(isSame);
      }),
      { numRuns: 2000 },
    );
  });

  it("no two different scopes of tenant and owner have one key", () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        expect(ownerKey(a) === ownerKey(b)).toBe(a.tenant === b.tenant && a.owner === b.owner);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("the share of an owner", () => {
  it("the share of an owner is half of what the others leave", () => {
    expect([exceedsShare(50, 50, 100), exceedsShare(51, 51, 100)]).toEqual([false, true]);
    expect([exceedsShare(30, 70, 100), exceedsShare(31, 71, 100)]).toEqual([false, true]);
  });
});
