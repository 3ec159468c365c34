import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { A2AError } from "../../../src/protocol/errors.js";
import { StoreError, storeErrorFrom } from "../../../src/store/sql/store-error.js";

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("an error of a database", () => {
  it("a database error reports that a file without a SQLite database is damaged, and keeps the driver's error", () => {
    const database = new DatabaseSync(":memory:");
    const cause = thrownBy(() => database.exec(`attach '${import.meta.filename}' as text; select * from text.a`));
    const error = storeErrorFrom(cause);
    expect(error).toMatchObject({ failure: "damaged", cause });
    expect(error.message).toBe("the database is damaged or not a database: file is not a database");
    database.close();
  });

  it("a database error explains a full disk, and a missing name as unknown", () => {
    const database = new DatabaseSync(":memory:");
    database.exec("pragma max_page_count = 2; create table a(x)");
    const full = thrownBy(() => database.prepare("insert into a values(?)").run(new Uint8Array(100_000)));
    expect(storeErrorFrom(full)).toMatchObject({
      failure: "full",
      message: expect.stringMatching(/^the database is full: /),
    });
    const unknown = storeErrorFrom(thrownBy(() => database.exec("select * from b")));
    expect(unknown).toMatchObject({ failure: "other", message: "the database failed: no such table: b" });
    database.close();
  });

  it.each([
    ["ECONNREFUSED", "unreachable"],
    ["ECONNRESET", "unreachable"],
    ["57P01", "unreachable"],
    ["08006", "unreachable"],
    ["53300", "unreachable"],
    ["53100", "full"],
    ["25006", "readOnly"],
    ["40P01", "locked"],
    ["58030", "unusable"],
    ["EIO", "unusable"],
    ["ENOSPC", "full"],
    ["23505", "other"],
  ])("a database error with the code %s is of the kind %s", (code, failure) => {
    expect(storeErrorFrom(Object.assign(new Error("said"), { code }))).toMatchObject({ failure });
  });

  it("a database error is known for a lost connection by its text where it has no code", () => {
    const failure = "unreachable";
    expect(storeErrorFrom(new Error("Connection terminated unexpectedly"))).toMatchObject({ failure });
    const unusable = new Error("Client has encountered a connection error and is not queryable");
    expect(storeErrorFrom(unusable)).toMatchObject({ failure });
    expect(storeErrorFrom(new Error("timeout exceeded when trying to connect"))).toMatchObject({ failure });
    expect(storeErrorFrom("a text")).toMatchObject({ failure: "other", message: "the database failed: a text" });
  });

  it("an error that already explains itself is left unchanged", () => {
    for (const error of [new StoreError("full", "full"), new A2AError("internalError", "a task exists")]) {
      expect(storeErrorFrom(error)).toBe(error);
    }
  });
});
