import { describe, expect, it } from "vitest";
import { CredentialsError, NoInterfaceError, NotCalledError } from "../../src/client/connection.js";
import { isOutage, toCallerError } from "../../src/gateway/failures.js";
import { A2AError, ConnectionError, type ErrorCode } from "../../src/protocol/errors.js";

const foreign = (code: ErrorCode, status: number) =>
  new A2AError(code, "at http://10.0.0.7:81", {
    metadata: { httpStatus: String(status) },
    challenge: "Bearer",
    retryAfterMs: 5,
  });

const away = "the agent behind the gateway cannot be reached";
const broken = "the connection to the agent behind the gateway broke before it answered";
const skipped = { binding: "GRPC", url: "http://10.0.0.7:81", version: "1.0", reason: "refused" };

describe("a failure of a call of the gateway", () => {
  it.each([
    ["nobody there", new ConnectionError("cannot reach http://10.0.0.7:81", { written: false }), "unavailable", away],
    ["a broken line", new ConnectionError("http://10.0.0.7:81 broke", { written: true }), "unavailable", broken],
    ["no interface", new NoInterfaceError([skipped], [], false), "unavailable", away],
    ["an address that is not called", new NotCalledError("http://10.0.0.7:81", "no"), "unavailable", away],
    [
      "credentials that cannot be had",
      new CredentialsError(new A2AError("unauthenticated", "http://10.0.0.7:81 refuses the client"), undefined),
      "unavailable",
      "the gateway could not get its credentials for the upstream agent",
    ],
    [
      "a version that is not taken",
      new A2AError("versionNotSupported", "http://10.0.0.7:81"),
      "unavailable",
      "the agent behind the gateway refuses the version that its card lists",
    ],
    ...(
      [
        [401, "unauthenticated", "unauthenticated"],
        [403, "permissionDenied", "permissionDenied"],
        [404, "methodNotFound", "invalidAgentResponse"],
        [405, "methodNotAllowed", "invalidAgentResponse"],
        [413, "contentTooLarge", "contentTooLarge"],
        [415, "unsupportedMediaType", "invalidAgentResponse"],
        [429, "resourceExhausted", "resourceExhausted"],
        [500, "internalError", "internalError"],
        [503, "unavailable", "unavailable"],
        [504, "deadlineExceeded", "deadlineExceeded"],
      ] as const
    ).map(
      ([status, code, publicCode]) =>
        [
          `HTTP status ${status}`,
          foreign(code, status),
          publicCode,
          `the agent behind the gateway answered with HTTP status ${status}`,
        ] as const,
    ),
  ] as const)("a failed call of the gateway reports %s without the agent's address", (_, error, code, message) => {
    const shown = toCallerError(error) as A2AError;
    expect([shown.constructor, shown.code, shown.message]).toEqual([A2AError, code, message]);
    expect([shown.metadata, shown.violations]).toEqual([{}, []]);
    expect(shown.retryAfterMs).toBe(error.retryAfterMs);
    expect(JSON.stringify([shown.message, shown.challenge ?? ""])).not.toContain("10.0.0.7");
  });

  it("a failed call counts as the gateway's shutdown when its client is closed", () => {
    const closed = new DOMException("the client is closed", "AbortError");
    expect(toCallerError(closed)).toMatchObject({ code: "unavailable", message: "the gateway is shutting down" });
  });

  it("a failed call passes on the challenge of a server before the agent", () => {
    expect(toCallerError(foreign("unauthenticated", 401))).toMatchObject({ challenge: "Bearer" });
  });

  it("a failed call keeps the agent's errors, and leaves other errors to the server", () => {
    const fault = new A2AError("taskNotFound", "no such task", { metadata: { taskId: "t" } });
    const unknown = new TypeError("oh");
    expect([toCallerError(fault), toCallerError(unknown)]).toEqual([fault, unknown]);
  });

  it.each([
    [new ConnectionError("gone", { written: true }), true],
    [new A2AError("versionNotSupported", "no"), true],
    [foreign("methodNotFound", 404), true],
    [new A2AError("taskNotFound", "no such task"), false],
    [new A2AError("unavailable", "draining"), false],
    [new TypeError("oh"), false],
  ])("a failed call refreshes the card, or not: %s", (error, isReason) => {
    expect(isOutage(error)).toBe(isReason);
  });
});
