import type { JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { A2AError, type ErrorOptions } from "trivium";
import { describe, expect, it } from "vitest";
import { detailsFromError, errorFromDetails } from "../../src/protocol/error-details.js";
import { errorCodes } from "../../src/protocol/errors.js";

const info = (more: object = {}): JsonValue => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason: "TASK_NOT_FOUND",
  domain: "a2a-protocol.org",
  ...more,
});

describe("the details of an error", () => {
  it.each(errorCodes)(
    "the error %s survives the round trip of its details by its reason, whatever the fallback",
    (code) => {
      const details = detailsFromError(new A2AError(code, "so"));
      expect(details).toHaveLength(1);
      expect(errorFromDetails(details, "so", "internalError")).toMatchObject({ code, message: "so" });
    },
  );

  it.each<[string, ErrorOptions]>([
    ["metadata", { metadata: { taskId: "t" } }],
    ["violations", { violations: [{ field: "message.parts[0]", description: "is empty" }] }],
    ["a time to come again", { retryAfterMs: 1500 }],
    ["all of them", { metadata: { a: "b" }, violations: [{ field: "f", description: "d" }], retryAfterMs: 0 }],
  ])("the details of an error carry %s", (_, options) => {
    const error = errorFromDetails(detailsFromError(new A2AError("taskNotFound", "so", options)), "so", "parseError");
    expect(error).toMatchObject({ code: "taskNotFound", ...options });
  });

  it("the details of an error have a reason of the sender's own behind that of the protocol", () => {
    const own = { reason: "BERTH_TAKEN", domain: "harbour.example", metadata: { berth: "4" } };
    const details = detailsFromError(new A2AError("taskNotFound", "so", own));
    expect(details).toEqual([info(), info(own)]);
    expect(errorFromDetails(details, "so", "internalError")).toMatchObject({ code: "taskNotFound", ...own });
  });

  it("the details of an error are typed as the protocol wants them", () => {
    const violations = [{ field: "id", description: "is required" }];
    const options = { violations, metadata: { taskId: "t" }, retryAfterMs: 250 };
    expect(detailsFromError(new A2AError("taskNotFound", "so", options))).toEqual([
      info({ metadata: { taskId: "t" } }),
      { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: violations },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.25s" },
    ]);
  });
});

describe("a peer's error details", () => {
  it.each<[string, JsonValue | undefined, object]>([
    ["nothing", undefined, { code: "internalError" }],
    ["no list", "oh no", { code: "internalError" }],
    ["one detail that stands in no list", info(), { code: "taskNotFound" }],
    ["details of other types around it", [{ "@type": "x/Help" }, null, 7, info()], { code: "taskNotFound" }],
    ["a reason that nobody knows", [info({ reason: "NOPE" })], { code: "internalError" }],
    [
      "a reason of another domain, whatever it is called",
      [info({ domain: "harbour.example", metadata: { berth: "4" } })],
      { code: "internalError", reason: "TASK_NOT_FOUND", domain: "harbour.example", metadata: { berth: "4" } },
    ],
    [
      "a reason of another domain before that of the protocol",
      [info({ reason: "BERTH_TAKEN", domain: "harbour.example" }), info({ metadata: { taskId: "t" } })],
      { code: "taskNotFound", reason: "BERTH_TAKEN", domain: "harbour.example", metadata: { taskId: "t" } },
    ],
    ["a reason that nobody knows, in the protocol's domain", [info({ reason: "NOPE" })], { reason: "NOPE" }],
    ["two reasons of the protocol", [info({ reason: "INTERNAL" }), info()], { code: "taskNotFound" }],
    ["a reason without a domain", [info({ domain: undefined })], { code: "taskNotFound" }],
    ["a reason that is no text", [info({ reason: { a: 1 } })], { code: "internalError", reason: "INTERNAL" }],
    ["metadata that is no text", [info({ metadata: { a: 1, b: null } })], { metadata: { a: "1", b: "null" } }],
    ["metadata that is no object", [info({ metadata: [1] })], { metadata: {} }],
    [
      "violations without members",
      [{ "@type": "x/BadRequest", fieldViolations: [{}, 1] }],
      { violations: [{ field: "", description: "" }] },
    ],
    ["violations that are no list", [{ "@type": "x/BadRequest", fieldViolations: {} }], { violations: [] }],
    ["a time that is none", [{ "@type": "x/RetryInfo", retryDelay: "soon" }], { retryAfterMs: undefined }],
  ])("a peer's error details are read as far as they are valid: %s", (_, details, expected) => {
    expect(errorFromDetails(details, "so", "internalError")).toMatchObject({ message: "so", ...expected });
  });

  it("a peer's error details are read without throwing, whatever they are", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (details) => {
        const value = details as JsonValue;
        expect(errorFromDetails(value, "so", "unavailable")).toBeInstanceOf(A2AError);
      }),
      { numRuns: 300 },
    );
  });
});
