import type { JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { A2AError, errorCodes, errorTable } from "../../../src/protocol/errors.js";
import { grpcStatusNames } from "../../../src/protocol/grpc-status.js";
import {
  errorFromHttp,
  errorFromJsonRpc,
  httpBodyFromError,
  jsonRpcFromError,
} from "../../../src/version/v1.0/errors.js";
import { httpErrorExamples, rpcErrorExamples } from "./wire-examples.js";

const details = {
  metadata: { taskId: "t-1" },
  violations: [{ field: "message.parts", description: "needs at least one entry" }],
  retryAfterMs: 1500,
};

describe.each(errorCodes)("%s", (code) => {
  const error = new A2AError(code, "what went wrong", details);

  it("an error survives JSON-RPC of 1.0 with all of its members", () => {
    const json = jsonRpcFromError(error);
    expect(json["code"]).toBe(errorTable[code].jsonRpc);
    expect(errorFromJsonRpc(json)).toMatchObject({ code, message: error.message, ...details });
  });

  it("an error survives HTTP+JSON of 1.0 with all of its members", () => {
    const { http, grpc } = errorTable[code];
    const body = httpBodyFromError(error);
    expect(body["error"]).toMatchObject({ code: http, status: grpcStatusNames[grpc] });
    expect(errorFromHttp(http, body)).toMatchObject({ code, message: error.message, ...details });
  });
});

describe("examples of the specification", () => {
  it.each(rpcErrorExamples)("the example $id $code is read over JSON-RPC", ({ code, error }) => {
    expect(errorFromJsonRpc(error)).toMatchObject({ code, message: error["message"] });
  });

  // Requirements: V1-ERR-18, V1-RPC-5
  it.each(rpcErrorExamples.filter(({ error }) => hasErrorInfo(error["data"])))(
    "the example $id $code is written back over JSON-RPC",
    ({ error }) => {
      expect(jsonRpcFromError(errorFromJsonRpc(error))).toEqual(error);
    },
  );

  it.each(httpErrorExamples)("the example $id $code is read over HTTP+JSON", ({ code, status, body }) => {
    expect(errorFromHttp(status, body)).toMatchObject({ code });
  });

  // Requirements: V1-ERR-18, V1-RPC-5
  it.each(httpErrorExamples.filter(({ body }) => hasErrorInfo(body)))(
    "the example $id $code is written back over HTTP+JSON",
    ({ status, body }) => {
      expect(httpBodyFromError(errorFromHttp(status, body))).toEqual(body);
    },
  );

  it("the example E-26 keeps its violations", () => {
    const [example] = httpErrorExamples.filter(({ id }) => id === "E-26");
    expect(errorFromHttp(400, example?.body).violations).toEqual([
      { field: "pageSize", description: "1 to 100" },
      { field: "status", description: "unknown state" },
    ]);
  });
});

describe("errors without details", () => {
  it.each([
    [404, { error: { code: 404, status: "NOT_FOUND", message: "gone" } }, "taskNotFound"],
    [404, undefined, "methodNotFound"],
    [400, { error: { code: 400, status: "FAILED_PRECONDITION", message: "no" } }, "unsupportedOperation"],
    [400, {}, "invalidParams"],
    [409, "conflict", "invalidRequest"],
    [404, { type: "https://a2a-protocol.org/errors/task-not-found", title: "Not here", status: 404 }, "taskNotFound"],
    [400, { type: "https://a2a-protocol.org/errors/version-not-supported", detail: "2.0" }, "versionNotSupported"],
    [400, { type: "about:blank", title: "Bad Request" }, "invalidParams"],
    [500, null, "internalError"],
    [502, undefined, "unavailable"],
    [302, undefined, "internalError"],
  ] as const)("errors without details are read by their HTTP status %d %j as %s", (status, body, code) => {
    expect(errorFromHttp(status, body as JsonValue | undefined).code).toBe(code);
  });

  it("errors without details take the text of a problem document", () => {
    expect(errorFromHttp(404, { title: "Not here", detail: "No task 7" }).message).toBe("No task 7");
  });

  it.each([
    [{ code: -32001, message: "x" }, "taskNotFound"],
    [{ code: -32001, message: "x", data: "some text" }, "taskNotFound"],
    [{ code: -32000, message: "x" }, "unauthenticated"],
    [{ code: -32603, message: "x" }, "internalError"],
    [{ code: 1234 }, "internalError"],
    ["boom", "internalError"],
    [undefined, "internalError"],
  ] as const)("errors without details are read by their JSON-RPC number %j as %s", (error, code) => {
    expect(errorFromJsonRpc(error).code).toBe(code);
  });

  it("reading errors never throws, whatever a peer sends", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 100, max: 599 }), (json, status) => {
        const value = json as JsonValue;
        for (const body of [value, { error: value }, { details: value, data: value, message: value, type: value }]) {
          expect(errorFromHttp(status, body)).toBeInstanceOf(A2AError);
          expect(errorFromJsonRpc(body)).toBeInstanceOf(A2AError);
        }
      }),
    );
  });
});

function hasErrorInfo(json: JsonValue | undefined): boolean {
  return JSON.stringify(json ?? null).includes("ErrorInfo");
}
