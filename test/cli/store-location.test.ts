import { describe, expect, it } from "vitest";
import { databaseLocation, locationText, storeLocation } from "../../src/cli/store-location.js";

describe("the location of a store", () => {
  it.each([
    ["memory", { kind: "memory" }],
    ["tasks.db", { kind: "sqlite", path: "tasks.db" }],
    ["./memory", { kind: "sqlite", path: "./memory" }],
    ["/var/lib/agent/tasks.db", { kind: "sqlite", path: "/var/lib/agent/tasks.db" }],
    ["C:\\agent\\tasks.db", { kind: "sqlite", path: "C:\\agent\\tasks.db" }],
    ["postgres://db/agent", { kind: "postgres", url: "postgres://db/agent" }],
    ["PostgreSQL://db/agent", { kind: "postgres", url: "PostgreSQL://db/agent" }],
  ])("the location of a store is read from %s", (text, place) => {
    expect(storeLocation(text)).toEqual(place);
  });

  it.each(["", "mysql://root:s3cret@db/agent", "http://db", "postgres://u:s3cret@[db/agent"])(
    "the location of a store is not %j, and the error shows no password",
    (text) => {
      const read = (): unknown => storeLocation(text);
      expect(read).toThrow(TypeError);
      expect(read).not.toThrow(/s3cret/);
    },
  );

  it("the location of a store is no database when it is memory", () => {
    expect(databaseLocation("tasks.db")).toEqual({ kind: "sqlite", path: "tasks.db" });
    expect(() => databaseLocation("memory")).toThrow("memory is not a database: name a file, or postgres://…");
  });

  it.each([
    ["memory", "memory"],
    [".trivium/tasks.db", ".trivium/tasks.db"],
    ["postgres://agent:s3cret@db:5433/agent?password=s3cret", "postgres://agent@db:5433/agent"],
  ])("the location of a store, %s, is shown without a password", (text, shown) => {
    expect(locationText(storeLocation(text))).toBe(shown);
  });
});
