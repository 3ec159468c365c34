import type { Principal } from "trivium";
import { describe, expect, expectTypeOf, it } from "vitest";
import { copyFrozen } from "../../src/auth/freeze.js";
import { keptClaims } from "../../src/auth/kept-claims.js";

describe("what is kept of a principal", () => {
  const principal = {
    owner: "alice",
    tenant: "north",
    scheme: "user",
    scopes: ["a"],
    claims: { x: 1, y: [2] },
    role: "cook",
  };

  it("what is kept of a principal has types", () => {
    expectTypeOf<Principal["scopes"]>().toEqualTypeOf<readonly string[] | undefined>();
    expectTypeOf<Principal["claims"]>().toEqualTypeOf<Readonly<Record<string, unknown>> | undefined>();
    expectTypeOf<Principal["scheme"]>().toEqualTypeOf<string | undefined>();
  });

  it("what is kept of a principal is all but owner and tenant, which are stored anyway", () => {
    expect(keptClaims({ keepClaims: true })?.(principal)).toEqual({
      scheme: "user",
      scopes: ["a"],
      claims: { x: 1, y: [2] },
      role: "cook",
    });
  });

  it("what is kept of a principal has of the claims those that are listed", () => {
    expect(keptClaims({ keepClaims: ["y", "z"] })?.(principal)).toMatchObject({ claims: { y: [2] } });
    expect(keptClaims({ keepClaims: [] })?.(principal)).toMatchObject({ claims: {} });
  });

  it("nothing is kept of a principal unless it is asked for", () => {
    expect([keptClaims({}), keptClaims({ keepClaims: false })]).toEqual([undefined, undefined]);
  });

  it("what is kept of a principal is made once for the calls with one token", () => {
    const keepClaims = keptClaims({ keepClaims: true });
    expect(keepClaims?.(principal)).toBe(keepClaims?.(principal));
  });

  it("what is kept of a principal is JSON, and anything else is refused by the option's name", () => {
    const keepClaims = keptClaims({ keepClaims: true });
    expect(keepClaims?.({ owner: "a", claims: { name: "\ud800" } })).toEqual({ claims: { name: "\ufffd" } });
    expect(() => keepClaims?.({ owner: "a", claims: { at: 1n } })).toThrow(
      "auth.keepClaims: the principal has members that are not JSON",
    );
  });

  it("what is kept of a principal has no member called __proto__, which could be taken for a prototype", () => {
    const keepClaims = keptClaims({ keepClaims: true });
    for (const text of ['{"__proto__":{"admin":true}}', '{"team":{"__proto__":{"admin":true}}}']) {
      expect(() => keepClaims?.({ owner: "a", claims: JSON.parse(text) })).toThrow(TypeError);
    }
  });
});

describe("a frozen copy", () => {
  it("a frozen copy cannot be changed at any depth, and leaves its original alone", () => {
    const original = { list: [{ a: 1 }], made: Object.create(null) };
    const copy = copyFrozen(original);
    expect(copy).toEqual(original);
    expect(() => Object.assign(copy.list[0] ?? {}, { a: 2 })).toThrow(TypeError);
    expect(() => copy.list.push({ a: 3 })).toThrow(TypeError);
    original.list.push({ a: 4 });
    expect(copy.list).toEqual([{ a: 1 }]);
  });

  it("a frozen copy has a claim called __proto__ as a claim, and survives circles", () => {
    const claims: Record<string, unknown> = JSON.parse('{"__proto__":{"admin":true}}');
    claims["self"] = claims;
    const copy = copyFrozen(claims);
    expect(copy["admin"]).toBeUndefined();
    expect(Object.keys(copy)).toEqual(["__proto__", "self"]);
    expect(copy["self"]).toBe(copy);
  });

  it("a frozen copy has objects of classes as they are", () => {
    const at = new Date(0);
    expect(copyFrozen({ at }).at).toBe(at);
  });
});
