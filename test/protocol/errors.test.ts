import { A2AError, type ErrorCode, errorTable } from "trivium";
import { describe, expect, it } from "vitest";
import {
  changeError,
  errorCodeFromGrpc,
  errorCodeFromHttp,
  errorCodeFromJsonRpc,
  errorCodeFromReason,
  errorCodes,
  invalidParams,
  taskNotFound,
} from "../../src/protocol/errors.js";

describe("the table of errors", () => {
  it("the table of errors has the nine errors of A2A with the codes that the protocol gives them", () => {
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

  it.each(errorCodes)("the error %s is found by its reason, which no other has", (code) => {
    expect(errorCodeFromReason(errorTable[code].reason)).toBe(code);
  });

  it("the table of errors reads each HTTP status and each gRPC status as one error", () => {
    const http = errorCodes.flatMap((code) => errorTable[code].fromHttp);
    const grpc = errorCodes.flatMap((code) => errorTable[code].fromGrpc);
    expect(new Set(http).size).toBe(http.length);
    expect(new Set(grpc).size).toBe(grpc.length);
  });

  it.each<[number, ErrorCode]>([
    [400, "invalidParams"],
    [401, "unauthenticated"],
    [403, "permissionDenied"],
    [404, "methodNotFound"],
    [405, "methodNotAllowed"],
    [408, "requestTimeout"],
    [413, "contentTooLarge"],
    [415, "unsupportedMediaType"],
    [418, "invalidRequest"],
    [429, "resourceExhausted"],
    [500, "internalError"],
    [501, "methodNotFound"],
    [502, "unavailable"],
    [503, "unavailable"],
    [504, "deadlineExceeded"],
    [599, "internalError"],
  ])("HTTP status %i alone is %s", (status, code) => {
    expect(errorCodeFromHttp(status)).toBe(code);
  });

  it("the table of errors leaves HTTP statuses that it does not have to the reader", () => {
    expect([418, 599].map((status) => errorCodeFromHttp(status, "invalidAgentResponse"))).toEqual([
      "invalidAgentResponse",
      "invalidAgentResponse",
    ]);
  });

  it("the table of errors reads a gRPC status without details, and any other as an internal error", () => {
    expect([1, 3, 4, 5, 7, 8, 9, 11, 12, 13, 14, 16, 2, 99].map(errorCodeFromGrpc)).toEqual([
      "unavailable",
      "invalidParams",
      "deadlineExceeded",
      "taskNotFound",
      "permissionDenied",
      "resourceExhausted",
      "unsupportedOperation",
      "invalidParams",
      "methodNotFound",
      "internalError",
      "unavailable",
      "unauthenticated",
      "internalError",
      "internalError",
    ]);
  });

  it("the table of errors reads a JSON-RPC number of several errors as the first of them", () => {
    expect([-32600, -32603, -32000, -32005, -32009, -32099].map(errorCodeFromJsonRpc)).toEqual([
      "invalidRequest",
      "internalError",
      "unauthenticated",
      "contentTypeNotSupported",
      "versionNotSupported",
      undefined,
    ]);
  });

  it("the table of errors knows no other reasons", () => {
    expect(["", "NOPE", "toString", "__proto__"].map(errorCodeFromReason)).toEqual(Array(4).fill(undefined));
  });
});

describe("an A2AError", () => {
  it("an A2AError is an Error with a code, and its other members are empty by default", () => {
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

  it("an A2AError has the reason and the domain of the protocol by default, and others if they are given", () => {
    expect(new A2AError("taskNotFound", "no")).toMatchObject({ reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" });
    const own = { reason: "BERTH_TAKEN", domain: "harbour.example", metadata: { berth: "4" } };
    expect(new A2AError("invalidParams", "no", own)).toMatchObject(own);
    expect(new A2AError("invalidParams", "no", { reason: "BERTH_TAKEN" })).toMatchObject({
      reason: "BERTH_TAKEN",
      domain: "a2a-protocol.org",
    });
  });

  it.each<[unknown, string]>([
    ["taskNotfound", 'unknown error code "taskNotfound": did you mean "taskNotFound"?'],
    ["TASK_NOT_FOUND", 'unknown error code "TASK_NOT_FOUND": did you mean "taskNotFound"?'],
    ["toString", 'unknown error code "toString": use one of taskNotFound, taskNotCancelable, '],
    [-32001, "unknown error code -32001: use one of taskNotFound, "],
    [undefined, "unknown error code undefined: use one of taskNotFound, "],
  ])("an A2AError of code %j is refused at once", (code, message) => {
    expect(() => new A2AError(code as ErrorCode, "no")).toThrow(TypeError);
    expect(() => new A2AError(code as ErrorCode, "no")).toThrow(message);
  });

  it.each<[string, object, string]>([
    ["a reason of another code", { reason: "TASK_NOT_FOUND" }, "reason TASK_NOT_FOUND is that of taskNotFound: "],
    ["a domain that is no string", { domain: 7 }, "domain of an error must be a string, not a value of type number"],
    ["a misspelled option", { retryAfter: 5 }, 'retryAfter of an error cannot be given: did you mean "retryAfterMs"?'],
    [
      "an unknown option",
      { details: [] },
      "details of an error cannot be given: use one of cause, violations, reason, ",
    ],
    ["a time that is no number", { retryAfterMs: "5 s" }, "retryAfterMs of an error must be a number, not a value of "],
    [
      "violations that are no list",
      { violations: "x" },
      "violations of an error must be an object, not a value of type",
    ],
    ["another error as options", new Error("why"), "give the error as { cause }, not as the options"],
    ["metadata that is no string", { metadata: { berth: 4 } }, "metadata.berth of an error must be a string, not a "],
  ])("an A2AError with %s is refused at once", (_, options, message) => {
    expect(() => new A2AError("invalidParams", "no", options)).toThrow(TypeError);
    expect(() => new A2AError("invalidParams", "no", options)).toThrow(message);
  });

  it("an A2AError has the default for an empty reason or domain", () => {
    const error = new A2AError("invalidParams", "no", { reason: "", domain: "" });
    expect(error).toMatchObject({ reason: "INVALID_PARAMS", domain: "a2a-protocol.org" });
  });

  it("an A2AError may use a reason of the protocol in a domain of its own", () => {
    const own = { reason: "TASK_NOT_FOUND", domain: "harbour.example" };
    expect(new A2AError("invalidParams", "no", own)).toMatchObject({ code: "invalidParams", ...own });
  });

  it("an A2AError takes the details of another error, but not the reason that this has by its code", () => {
    const other = new A2AError("taskNotFound", "no", { metadata: { taskId: "t" }, retryAfterMs: 5 });
    expect(new A2AError("unavailable", "later", other)).toMatchObject({
      reason: "UNAVAILABLE",
      domain: "a2a-protocol.org",
      metadata: { taskId: "t" },
      retryAfterMs: 5,
    });
  });

  it("an A2AError is copied with its own reason, or with that of its new code", () => {
    const own = new A2AError("internalError", "no", { reason: "STORM", domain: "harbour.example" });
    expect(changeError(own, { code: "unavailable" })).toMatchObject({ code: "unavailable", reason: "STORM" });
    const plain = changeError(new A2AError("internalError", "no"), { code: "unavailable", message: "later" });
    expect(plain).toMatchObject({ code: "unavailable", reason: "UNAVAILABLE", message: "later" });
  });

  it("an A2AError keeps its cause to itself: no written form contains it", () => {
    const cause = new Error("secret");
    const error = new A2AError("internalError", "internal error", { cause });
    expect(error.cause).toBe(cause);
    expect(JSON.stringify(error) + error.message).not.toContain("secret");
  });

  it("an A2AError about fields names the first of them, and lists all", () => {
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

  it("an A2AError about a missing task reveals no more than the caller sent", () => {
    expect(taskNotFound("t")).toMatchObject({ message: "Task not found", metadata: { taskId: "t" } });
  });
});
