import { Metadata } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { encodeStatus } from "../../../src/binding/grpc/details.js";
import {
  errorFromStatus,
  errorToStatus,
  type ReceivedStatus,
  type SentMetadata,
} from "../../../src/binding/grpc/errors.js";
import { A2AError, type ErrorOptions, errorCodes, errorTable, taskNotFound } from "../../../src/protocol/errors.js";
import { echo, serviceOf } from "../../support/echo-service.js";
import { grpcAgent } from "../../support/grpc-agent.js";
import { itemsOf } from "../../support/items.js";
import { getTask, hello } from "../../support/requests.js";

/** A status as a client receives it. */
function received(status: SentMetadata): ReceivedStatus {
  const { "grpc-status": code, "grpc-message": message = "", ...metadata } = status;
  return { code: Number(code), details: decodeURI(message), metadata: Metadata.fromHttp2Headers(metadata) };
}

// Requirements: V1-ERR-18
it.each(errorCodes)("the error %s is sent as a gRPC status and arrives complete", (code) => {
  const error = new A2AError(code, "näh: 100 % \n no", {
    metadata: { taskId: "t", more: "ä" },
    violations: [{ field: "message.parts[0]", description: "is no part" }],
    retryAfterMs: 1500,
  });
  const status = errorToStatus(error);
  expect(status["grpc-status"]).toBe(String(errorTable[code].grpc));
  const { message, metadata, violations, retryAfterMs, ...back } = errorFromStatus(received(status));
  expect(back.code).toBe(code);
  expect({ message, metadata, violations, retryAfterMs }).toEqual({
    message: error.message,
    metadata: error.metadata,
    violations: error.violations,
    retryAfterMs: 1500,
  });
});

// Requirements: V1-ERR-17
it.each(errorCodes)(
  "the error %s thrown by an operation reaches the caller of a unary call and of a stream",
  async (code) => {
    const error = new A2AError(code, "nö", { metadata: { taskId: "t-1" } });
    const fail = (): never => {
      throw error;
    };
    await using agent = await grpcAgent(serviceOf({ getTask: fail, sendStreamingMessage: fail }));
    const expected = { code, message: "nö", metadata: { taskId: "t-1" } };
    await expect(agent.client.getTask(getTask, {})).rejects.toMatchObject(expected);
    await expect(itemsOf(agent.client.sendStreamingMessage(hello, {}))).rejects.toMatchObject(expected);
  },
);

it.each<[string, ErrorOptions, object]>([
  ["metadata that is too large", { metadata: { more: "x".repeat(5000) } }, { reason: "BERTH_TAKEN", metadata: {} }],
  [
    "a reason that is too large",
    { reason: "X".repeat(5000) },
    { reason: "INVALID_PARAMS", domain: "a2a-protocol.org" },
  ],
])("the detail %s is dropped, and the rest of the error arrives", (_, options, expected) => {
  const own = { reason: "BERTH_TAKEN", domain: "harbour.example", ...options };
  const back = errorFromStatus(received(errorToStatus(new A2AError("invalidParams", "no", own))));
  expect(back).toMatchObject({ code: "invalidParams", message: "no", ...expected });
});

// The vector of spec 10.13 (E-23).
// Requirements: V1-ERR-19
it("the error of a missing task is encoded byte for byte", () => {
  const error = new A2AError("taskNotFound", "No such task", { metadata: { taskId: "t-nope" } });
  expect(Buffer.from(encodeStatus(error)).toString("hex")).toBe(
    "0805120c4e6f2073756368207461736b1a600a28747970652e676f6f676c65617069732e636f6d2f676f6f676c652e7270632e" +
      "4572726f72496e666f12340a0e5441534b5f4e4f545f464f554e4412106132612d70726f746f636f6c2e6f72671a100a067461736b" +
      "49641206742d6e6f7065",
  );
});

it.each([
  [1, "unavailable"],
  [3, "invalidParams"],
  [4, "deadlineExceeded"],
  [5, "taskNotFound"],
  [8, "resourceExhausted"],
  [9, "unsupportedOperation"],
  [12, "methodNotFound"],
  [13, "internalError"],
  [14, "unavailable"],
  [16, "unauthenticated"],
  [99, "internalError"],
] as const)("the gRPC client reads status %i without details as %s", (code, expected) => {
  expect(errorFromStatus({ code, details: "x", metadata: new Metadata() })).toMatchObject({
    code: expected,
    message: "x",
  });
});

it.each(["", "\x0a\xff\xff\xff\xff\xff", "\x08\x05\x1a\x02\x0a\x7f"])(
  "a gRPC error survives details that are garbage: %j",
  (bytes) => {
    const metadata = new Metadata();
    metadata.set("grpc-status-details-bin", Buffer.from(bytes, "latin1"));
    expect(errorFromStatus({ code: 5, details: "x", metadata }).code).toBe("taskNotFound");
  },
);

it("a gRPC status stays within what peers take as metadata, however much is wrong", async () => {
  const violations = Array.from({ length: 5000 }, (_, index) => ({ field: `f[${index}]`, description: "is wrong" }));
  const error = new A2AError("invalidParams", `\ud800${"too long ".repeat(1000)}`, { violations });
  await using agent = await grpcAgent(serviceOf({ getTask: () => Promise.reject(error) }));
  const caught: unknown = await agent.client.getTask(getTask, {}).catch((thrown: unknown) => thrown);
  expect(caught).toBeInstanceOf(A2AError);
  const { code, violations: shown, message } = caught as A2AError;
  expect(code).toBe("invalidParams");
  expect(shown.length).toBeGreaterThan(10);
  expect(message.startsWith("\ufffdtoo long")).toBe(true);
});

it("a gRPC error reveals nothing of what agent code threw", async () => {
  await using agent = await grpcAgent(serviceOf({ sendMessage: () => Promise.reject(new Error("secret")) }));
  await expect(agent.client.sendMessage(hello, {})).rejects.toMatchObject({
    code: "internalError",
    message: "internal error",
  });
});

it("a gRPC connection answers the next call after an error", async () => {
  await using agent = await grpcAgent(
    serviceOf({ getTask: () => Promise.reject(taskNotFound("t")), sendMessage: async (request) => echo(request) }),
  );
  await expect(agent.client.getTask(getTask, {})).rejects.toMatchObject({ code: "taskNotFound" });
  await expect(agent.client.sendMessage(hello, {})).resolves.toEqual(echo(hello));
});
