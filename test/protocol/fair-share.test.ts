import { describe, expect, it } from "vitest";
import { exceedsShare, ownerKey } from "../../src/protocol/fair-share.js";

describe("the key of an owner", () => {
  it("is another one for each tenant and owner, whatever their texts have", () => {
    const scopes = [
      { tenant: "", owner: "a\nb" },
      { tenant: "a", owner: "b" },
      { tenant: "a\nb", owner: "" },
      { tenant: "", owner: "\na\nb" },
      { tenant: "\na", owner: "b" },
      { tenant: "1", owner: " a" },
      { tenant: "", owner: "1 1 a" },
    ];
    const keys = scopes.map((scope) => ownerKey({ agent: "", ...scope }));
    expect(new Set(keys).size).toBe(scopes.length);
  });

  it("is the same at each agent", () => {
    const scope = { tenant: "t", owner: "o" };
    expect(ownerKey({ agent: "/a", ...scope })).toBe(ownerKey({ agent: "/b", ...scope }));
  });
});

describe("the share of an owner", () => {
  it("is half of what the others leave", () => {
    expect([exceedsShare(50, 50, 100), exceedsShare(51, 51, 100)]).toEqual([false, true]);
    expect([exceedsShare(30, 70, 100), exceedsShare(31, 71, 100)]).toEqual([false, true]);
  });
});
