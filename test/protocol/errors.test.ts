import { A2AError, errorTable } from "trivium";
import { describe, expect, it } from "vitest";
import { errorCodeFromReason, errorCodes, invalidParams, taskNotFound } from "../../src/protocol/errors.js";

describe("the table of errors", () => {
  it("has the nine errors of A2A with the codes that the protocol gives them", () => {
    const own = errorCodes.filter((code) => errorTable[code].a2a);
    expect(own.map((code) => [code, errorTable[code].jsonRpc])).toEqual([
      ["taskNotFound", -32001],
      ["taskNotCancelable", -32002],
      ["pushNotificationNotSupported", -32003],
      ["unsupportedOperation", -32004],
      ["contentTypeNotSupported", -32005],
      ["invalidAgentResponse", -32006],
      ["extendedAgentCardNotConfigured", -32007],
      ["extensionSupportRequired", -32008],
      ["versionNotSupported", -32009],
    ]);
  });

  it.each(errorCodes)("%s is found by its reason, which no other has", (code) => {
    expect(errorCodeFromReason(errorTable[code].reason)).toBe(code);
  });

  it("knows no other reasons", () => {
    expect(["", "NOPE", "toString", "__proto__"].map(errorCodeFromReason)).toEqual(Array(4).fill(undefined));
  });
});

describe("an A2AError", () => {
  it("is an Error with a code, and its other members are empty by default", () => {
    const error = new A2AError("parseError", "no JSON");
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "A2AError", code: "parseError", message: "no JSON" });
    expect([error.violations, error.metadata, error.retryAfterMs, error.challenge]).toEqual([
      [],
      {},
      undefined,
      undefined,
    ]);
    expect("cause" in error).toBe(false);
  });

  it("keeps its cause to itself: no written form contains it", () => {
    const cause = new Error("secret");
    const error = new A2AError("internalError", "internal error", { cause });
    expect(error.cause).toBe(cause);
    expect(JSON.stringify(error) + error.message).not.toContain("secret");
  });

  it("about fields names the first of them, and lists all", () => {
    const [one, two] = [
      { field: "id", description: "is required" },
      { field: "pageSize", description: "is 0" },
    ];
    expect(invalidParams(one, two)).toMatchObject({
      code: "invalidParams",
      message: "invalid parameters: id is required",
      violations: [one, two],
    });
    expect(invalidParams().message).toBe("invalid parameters");
  });

  it("about a missing task reveals no more than the caller sent", () => {
    expect(taskNotFound("t")).toMatchObject({ message: "Task not found", metadata: { taskId: "t" } });
  });
});
