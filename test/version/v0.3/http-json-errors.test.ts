import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { A2AError, type ErrorCode, errorCodes, errorDomain, errorTable } from "../../../src/protocol/errors.js";
import { findOperation } from "../../../src/protocol/operations.js";
import { httpJsonAdapters } from "../../../src/version/v0.3/http-json.js";
import { messageOf, startRest } from "./proto-served.js";

const [adapter] = httpJsonAdapters();

describe("an error over HTTP+JSON of 0.3", () => {
  // Requirements: V03-REST-2
  it("an error over HTTP+JSON of 0.3 has the body of E22, which all clients read", async () => {
    await using rest = await startRest();
    const { status, headers, json } = await rest.ask("GET /v1/tasks/nope");
    expect([status, headers["content-type"]]).toEqual([404, "application/json"]);
    expect(json).toEqual({
      code: -32001,
      message: "Task not found",
      type: "TaskNotFoundError",
      error: {
        code: 404,
        status: "NOT_FOUND",
        message: "Task not found",
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            reason: "TASK_NOT_FOUND",
            domain: errorDomain,
            metadata: { taskId: "nope" },
          },
        ],
      },
    });
  });

  // Requirements: V03-REST-3
  it.each([
    ["POST /v1/message:send", { message: messageOf("a", { content: [] }) }, 400, -32602],
    ["POST /v1/message:send", [], 400, -32602],
    ["POST /v1/message:send", "x", 400, -32602],
    ["POST /v1/message:send", null, 400, -32602],
    ["POST /v1/message:send", { message: messageOf("a", { taskId: "nope" }) }, 404, -32001],
    ["GET /v1/tasks/t?historyLength=x", undefined, 400, -32602],
    ["GET /v1/tasks/t?historyLength=1&historyLength=2", undefined, 400, -32602],
    ["POST /v1/tasks/nope:cancel", {}, 404, -32001],
    ["POST /v1/tasks/nope:subscribe", {}, 404, -32001],
    ["GET /v1/tasks/nope/pushNotificationConfigs", undefined, 404, -32001],
    ["GET /v1/nothing", undefined, 404, -32601],
  ] as const)("HTTP+JSON of 0.3 answers %s %j with %i and %i", async (call, body, status, code) => {
    await using rest = await startRest();
    const answer = await rest.ask(call, body as JsonValue | undefined);
    expect([answer.status, answer.json["code"]]).toEqual([status, code]);
    expect(JSON.stringify(answer.json)).not.toContain("secret");
  });

  it("an error over HTTP+JSON of 0.3 names fields as 0.3 does", async () => {
    await using rest = await startRest();
    const { json } = await rest.ask("POST /v1/message:send", {
      message: messageOf("a", {
        content: [{ text: "a" }, { file: { fileWithUri: "u", mimeType: "x".repeat(300) } }, {}],
      }),
      configuration: { historyLength: -1, pushNotification: { token: "é" } },
    });
    const [, bad = {}] = (json["error"] as JsonObject)["details"] as JsonObject[];
    const fields = (bad["fieldViolations"] as JsonObject[]).map(({ field }) => field);
    expect(fields).toEqual([
      "message.content[1].file.mimeType",
      "message.content[2]",
      "configuration.pushNotification.url",
      "configuration.pushNotification.token",
      "configuration.historyLength",
    ]);
  });

  it("an error over HTTP+JSON of 0.3 in the middle of a stream is an event of that name", () => {
    expect(adapter.failureName).toBe("error");
  });

  it.each(errorCodes)(
    "the error %s is read back over HTTP+JSON of 0.3 as it was written, also in the middle of a stream",
    (code) => {
      const error = new A2AError(code, "no", {
        metadata: { a: "b" },
        violations: [{ field: "f", description: "is wrong" }],
        retryAfterMs: 1500,
      });
      const body = adapter.writeError(error);
      const { message, metadata, violations, retryAfterMs } = error;
      expect(adapter.readError(errorTable[code].http, body)).toMatchObject({
        code,
        message,
        metadata,
        violations,
        retryAfterMs,
      });
      const reader = adapter.readStream(findOperation("subscribeToTask"));
      expect(() => reader.read(body, { name: "error" })).toThrow(expect.objectContaining({ code, message: "no" }));
    },
  );
});

describe("error bodies of other servers", () => {
  it.each<readonly [string, number, JsonValue | undefined, ErrorCode]>([
    ["a number", 500, { code: -32002, message: "x" }, "taskNotCancelable"],
    ["a number and data", 404, { code: -32001, message: "Task not found: t", data: { taskId: "t" } }, "taskNotFound"],
    [
      "a reason",
      400,
      {
        error: {
          code: 400,
          status: "FAILED_PRECONDITION",
          message: "x",
          details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "UNSUPPORTED_OPERATION" }],
        },
      },
      "unsupportedOperation",
    ],
    [
      "the reason in data",
      400,
      { message: "x", data: [{ "@type": "x/ErrorInfo", reason: "TASK_NOT_FOUND" }] },
      "taskNotFound",
    ],
    ["a class", 404, { type: "TaskNotFoundError", message: "gone" }, "taskNotFound"],
    [
      "a class as a problem",
      400,
      { type: "https://a2a-protocol.org/errors/task-not-cancelable", title: "x" },
      "taskNotCancelable",
    ],
    ["a text", 404, { message: "Task not found" }, "taskNotFound"],
    ["another text", 501, { message: "Push Notification is not supported" }, "pushNotificationNotSupported"],
    ["a status", 404, { message: "whatever" }, "taskNotFound"],
    ["a status without a body of the agent's", 404, { detail: "Not Found" }, "methodNotFound"],
    ["a page", 404, undefined, "methodNotFound"],
    ["409", 409, { message: "x" }, "taskNotCancelable"],
    ["415", 415, { message: "x" }, "contentTypeNotSupported"],
    ["501", 501, { message: "x" }, "unsupportedOperation"],
    ["401", 401, undefined, "unauthenticated"],
    ["403", 403, {}, "permissionDenied"],
    ["429", 429, {}, "resourceExhausted"],
    ["503", 503, undefined, "unavailable"],
    ["418", 418, {}, "invalidRequest"],
    ["500", 500, { message: "unknown exception" }, "internalError"],
  ])("the HTTP+JSON error body of another 0.3 server is read: %s", (_, status, body, code) => {
    expect(adapter.readError(status, body)).toMatchObject({ code });
  });

  it.each<readonly [JsonValue, ErrorCode]>([
    [{ code: -32603, message: "lost" }, "internalError"],
    [{ code: -32004, message: "lost" }, "unsupportedOperation"],
    [{ error: { code: 404, status: "NOT_FOUND", message: "lost", details: [] } }, "taskNotFound"],
  ])("the HTTP+JSON error of another 0.3 server ends a stream: %j", (event, code) => {
    const reader = adapter.readStream(findOperation("sendStreamingMessage"));
    expect(() => reader.read(event)).toThrow(expect.objectContaining({ code, message: "lost" }));
  });

  it("reading the error of another 0.3 server never throws, whatever it is", () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.jsonValue(), (status, body) => {
        expect(adapter.readError(status, body as JsonValue)).toBeInstanceOf(A2AError);
      }),
      { numRuns: 300 },
    );
  });
});

it("HTTP+JSON of 0.3 refuses random JSON with an A2AError and nothing else", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(...adapter.routes), (json, { operation }) => {
      for (const read of [
        () => adapter.codec(operation).readRequest(json as JsonValue),
        () =>
          adapter
            .codec(operation)
            .readRequest({ taskId: "t", configId: "c", message: json, config: json } as JsonObject),
        () => (operation.streams ? undefined : adapter.codec(operation).readReply(json as JsonValue)),
        () => adapter.readStream(findOperation("subscribeToTask")).read(json as JsonValue),
      ]) {
        try {
          read();
        } catch (error) {
          expect(error).toMatchObject({ name: "A2AError" });
        }
      }
    }),
    { numRuns: 300 },
  );
});
