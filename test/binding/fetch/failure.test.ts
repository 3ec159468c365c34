import { describe, expect, it } from "vitest";
import { fetchFailure } from "../../../src/binding/fetch/failure.js";

/** Converts an error as thrown by the `fetch` of some runtime. */
function failureOf(cause: object, begun = true): unknown {
  const inner = Object.assign(new Error("inner"), cause);
  return fetchFailure({
    what: "cannot reach x",
    cause: new TypeError("fetch failed", { cause: inner }),
    started: begun,
  });
}

describe("a failure of fetch", () => {
  it.each([
    "ECONNREFUSED",
    "ENOTFOUND",
    "EAI_AGAIN",
    "UND_ERR_CONNECT_TIMEOUT",
    "CERT_HAS_EXPIRED",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE",
    "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA",
  ])("a failure of fetch with %s came before the request was sent", (code) => {
    expect(failureOf({ code })).toMatchObject({
      code: "unavailable",
      written: false,
      message: "cannot reach x: inner",
    });
  });

  it.each(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "ERR_SSL_WRONG_VERSION_NUMBER", "ETIMEDOUT", undefined])(
    "a failure of fetch with %s may have been written, unless the request is known not to have begun",
    (code) => {
      expect(failureOf({ code })).toMatchObject({ written: true });
      expect(failureOf({ code }, false)).toMatchObject({ written: false });
    },
  );

  it.each([
    ["ENOTFOUND", true],
    ["CERT_HAS_EXPIRED", true],
    ["ERR_SSL_WRONG_VERSION_NUMBER", true],
    ["EAI_AGAIN", false],
    ["ECONNREFUSED", false],
    ["ECONNRESET", false],
    ["UND_ERR_CONNECT_TIMEOUT", false],
  ])("a failure of fetch with %s is final: %s", (code, isFinal) => {
    expect(failureOf({ code })).toMatchObject({ isFinal });
  });

  it.each([
    [0, false],
    [1, true],
  ])("a failure of fetch on a socket that has sent %i bytes is reported as such", (bytesWritten, written) => {
    expect(failureOf({ code: "UND_ERR_SOCKET", socket: { bytesWritten } })).toMatchObject({ written });
  });

  it("a failure of fetch over headers without an end is one of the answer", () => {
    expect(failureOf({ code: "UND_ERR_HEADERS_OVERFLOW" })).toMatchObject({ code: "contentTooLarge" });
  });
});
