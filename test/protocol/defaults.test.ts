import { describe, expect, it } from "vitest";
import { omitUndefined, withDefaults } from "../../src/protocol/defaults.js";

describe("defaults", () => {
  const defaults = { pollMs: 1_000, name: "a", isOn: true };

  it("defaults are taken for members that are missing or undefined", () => {
    const given: { pollMs?: number; name?: string } = { name: "b" };
    Object.assign(given, { pollMs: undefined });
    expect(withDefaults(defaults, given)).toEqual({ pollMs: 1_000, name: "b", isOn: true });
    expect(withDefaults(defaults)).toEqual(defaults);
  });

  it("defaults are not taken for false, null, zero and an empty text", () => {
    const given: object = { pollMs: 0, name: "", isOn: false };
    expect(withDefaults(defaults, given)).toEqual({ pollMs: 0, name: "", isOn: false });
    expect(omitUndefined({ a: null, b: undefined, c: "" })).toStrictEqual({ a: null, c: "" });
  });
});
