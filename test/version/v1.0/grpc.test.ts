import { create, type DescMessage, equals, fromBinary, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import * as a2a from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { readJson } from "../../../src/protocol/codec/json/reader.js";
import { writeJson } from "../../../src/protocol/codec/json/writer.js";
import { findOperation, operations } from "../../../src/protocol/operations.js";
import { v1 } from "../../../src/version/v1.0/v1.js";
import { rpcExamples } from "./wire-examples.js";

// Binary vectors of the 1.0 messages: their JSON and their bytes, with fields in ascending order.
const vectors: readonly (readonly [DescMessage, JsonValue, string])[] = [
  [a2a.PartSchema, { text: "" }, "0a00"],
  [a2a.PartSchema, { raw: "Af8=", filename: "f" }, "120201ff320166"],
  [a2a.PartSchema, { data: null }, "22020800"],
  [a2a.PartSchema, { data: { n: 1.5 } }, "22122a100a0e0a016e120911000000000000f83f"],
  [
    a2a.PartSchema,
    { url: "https://x.example", mediaType: "text/csv" },
    "1a1168747470733a2f2f782e6578616d706c653a08746578742f637376",
  ],
  [a2a.GetTaskRequestSchema, { id: "t" }, "120174"],
  [a2a.GetTaskRequestSchema, { id: "t", historyLength: 0 }, "1201741800"],
  [a2a.ListTaskPushNotificationConfigsRequestSchema, { taskId: "t", pageSize: 2, tenant: "n" }, "0a0174100222016e"],
  [a2a.AgentCapabilitiesSchema, { streaming: false }, "0800"],
  [
    a2a.TaskStatusSchema,
    { state: "TASK_STATE_WORKING", timestamp: "2026-05-02T08:15:30.120Z" },
    "08021a0b08a2e5d6cf0610809c9c39",
  ],
  [
    a2a.StreamResponseSchema,
    { statusUpdate: { taskId: "t", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } } },
    "1a0a0a01741201631a020803",
  ],
  [
    a2a.StreamResponseSchema,
    {
      artifactUpdate: {
        taskId: "t",
        contextId: "c",
        artifact: { artifactId: "a", parts: [{ text: "x" }] },
        append: true,
        lastChunk: true,
      },
    },
    "22140a01741201631a080a016122030a017820012801",
  ],
  [a2a.SecurityRequirementSchema, { schemes: { o: { list: ["r"] } } }, "0a080a016f12030a0172"],
  [a2a.SecuritySchemeSchema, { mtlsSecurityScheme: {} }, "2a00"],
  [
    a2a.SendMessageResponseSchema,
    { message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "hi" }] } },
    "120b0a016d20022a040a026869",
  ],
  [
    a2a.SendMessageRequestSchema,
    rpcExamples[0]?.params ?? null,
    "12370a036d2d3120012a2e0a2c46696e642061206672656520626572746820666f72206120313930206d2073686970206f6e203132204d61791a200a0a746578742f706c61696e0a106170706c69636174696f6e2f6a736f6e1800",
  ],
];

describe("binary vectors of 1.0", () => {
  // Requirements: V1-GRPC-1
  it.each(vectors)("the 1.0 binary vector %s %j is %s", (desc, json, hex) => {
    const { message, violations } = readJson(desc, json);
    expect(violations).toEqual([]);
    expect(Buffer.from(toBinary(desc, message)).toString("hex")).toBe(hex);
    const decoded = fromBinary(desc, Buffer.from(hex, "hex"));
    expect(equals(desc, decoded, message)).toBe(true);
    expect(writeJson(desc, decoded)).toEqual(json);
  });

  it("the 1.0 status of E-23 is packed with its details", () => {
    const info = create(ErrorInfoSchema, {
      reason: "TASK_NOT_FOUND",
      domain: "a2a-protocol.org",
      metadata: { taskId: "t-nope" },
    });
    const status = create(StatusSchema, {
      code: 5,
      message: "No such task",
      details: [anyPack(ErrorInfoSchema, info)],
    });
    expect(Buffer.from(toBinary(StatusSchema, status)).toString("base64")).toBe(
      "CAUSDE5vIHN1Y2ggdGFzaxpgCih0eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5ycGMuRXJyb3JJbmZvEjQKDlRBU0tfTk9UX0ZPVU5EEhBhMmEtcHJvdG9jb2wub3JnGhAKBnRhc2tJZBIGdC1ub3Bl",
    );
  });
});

describe("the gRPC adapter of 1.0", () => {
  const { grpc } = v1;
  if (grpc === undefined) throw new Error("1.0 has gRPC");

  // Requirements: V1-EQ-1, V1-GRPC-1
  it("the gRPC adapter of 1.0 has every operation under the name of its RPC", () => {
    expect([...grpc.methods]).toEqual(operations.map((operation) => [operation.method, operation]));
    expect(grpc.service.typeName).toBe("lf.a2a.v1.A2AService");
  });

  it("the gRPC adapter of 1.0 takes a valid request as it is", () => {
    const request = create(a2a.GetTaskRequestSchema, { id: "t" });
    expect(grpc.readRequest(findOperation("getTask"), request)).toBe(request);
  });

  it("the gRPC adapter of 1.0 refuses a request with every field at fault, as the JSON bindings do", () => {
    const request = create(a2a.SendMessageRequestSchema, { message: { role: a2a.Role.AGENT, parts: [{}] } });
    expect(() => grpc.readRequest(findOperation("sendMessage"), request)).toThrow(
      expect.objectContaining({
        code: "invalidParams",
        violations: [
          { field: "message.messageId", description: "is required" },
          { field: "message.parts[0]", description: "needs one of text, raw, url, data" },
          { field: "message.role", description: "must be ROLE_USER in a request" },
        ],
      }),
    );
  });

  it("the gRPC adapter of 1.0 hands on the event itself, so that it need be encoded but once", () => {
    const operation = findOperation("subscribeToTask");
    const response = create(a2a.StreamResponseSchema, { payload: { case: "task", value: { id: "t" } } });
    const item = { response, id: "i" };
    const write = () => grpc.writeStream(operation, response).write(item);
    const [first] = write();
    expect(first?.payload).toBe(response);
    expect(first?.id).toBe("i");
  });

  it("the gRPC adapter of 1.0 passes over an event of a kind that we do not know", () => {
    const reader = grpc.readStream(findOperation("subscribeToTask"));
    expect(reader.read(fromBinary(a2a.StreamResponseSchema, Buffer.from("7a020801", "hex")))).toEqual([]);
  });
});
