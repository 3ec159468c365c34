import { describe, expect, it } from "vitest";
import { newId } from "../../../src/protocol/id/new-id.js";

describe("newId", () => {
  it("newId makes version 7 UUIDs that carry the time", () => {
    const now = Date.now() + 60_000;
    const id = newId(now);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(now);
  });

  it("newId makes unique ids that sort by creation, even when the clock runs backwards", () => {
    const now = Date.now() + 120_000;
    const ids = Array.from({ length: 20_000 }, (_, index) => newId(index % 3 === 0 ? now - 5 : now));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.findIndex((id, index) => index > 0 && id <= (ids[index - 1] ?? ""))).toBe(-1);
  });
});
