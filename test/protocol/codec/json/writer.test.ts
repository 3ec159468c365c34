import { create, fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import * as a2a from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { writeJson } from "../../../../src/protocol/codec/json/writer.js";

describe("REQUIRED members are written even when they are empty", () => {
  it.each([
    [a2a.TaskSchema, { id: "" }],
    [a2a.TaskStatusSchema, { state: "TASK_STATE_UNSPECIFIED" }],
    [a2a.MessageSchema, { messageId: "", role: "ROLE_UNSPECIFIED", parts: [] }],
    [a2a.ArtifactSchema, { artifactId: "", parts: [] }],
    [a2a.TaskArtifactUpdateEventSchema, { taskId: "", contextId: "" }],
    [a2a.ListTasksResponseSchema, { tasks: [], nextPageToken: "", pageSize: 0, totalSize: 0 }],
    [a2a.ListTaskPushNotificationConfigsResponseSchema, {}],
    [a2a.TaskPushNotificationConfigSchema, { url: "" }],
    [a2a.ClientCredentialsOAuthFlowSchema, { tokenUrl: "", scopes: {} }],
    [
      a2a.AgentCardSchema,
      {
        name: "",
        description: "",
        supportedInterfaces: [],
        version: "",
        defaultInputModes: [],
        defaultOutputModes: [],
        skills: [],
      },
    ],
    [a2a.AgentCapabilitiesSchema, {}],
  ])("the REQUIRED members of %s are written even when they are empty", (desc, json) => {
    expect(writeJson(desc, create(desc))).toEqual(json);
  });
});

describe("members with presence are written when they are set", () => {
  it.each([
    [a2a.AgentCapabilitiesSchema, { streaming: false }, { streaming: false }],
    [a2a.GetTaskRequestSchema, { id: "t", historyLength: 0 }, { id: "t", historyLength: 0 }],
    [a2a.PartSchema, { content: { case: "text", value: "" } }, { text: "" }],
    [a2a.PartSchema, { content: { case: "raw", value: new Uint8Array(0) } }, { raw: "" }],
    [a2a.SecuritySchemeSchema, { scheme: { case: "mtlsSecurityScheme", value: {} } }, { mtlsSecurityScheme: {} }],
    [a2a.PartSchema, { metadata: {} }, { metadata: {} }],
  ])("members of %s with presence are written when they are set: %j", (desc, init, json) => {
    expect(writeJson(desc, create(desc, init as never))).toEqual(json);
  });
});

it("the JSON writer writes times with three digits, and with more when they are needed", () => {
  const status = (nanos: number) => create(a2a.TaskStatusSchema, { timestamp: { seconds: 1777709730n, nanos } });
  const timestampOf = (nanos: number) => writeJson(a2a.TaskStatusSchema, status(nanos))["timestamp"];
  expect(timestampOf(0)).toBe("2026-05-02T08:15:30.000Z");
  expect(timestampOf(120_000_000)).toBe("2026-05-02T08:15:30.120Z");
  expect(timestampOf(120_034_000)).toBe("2026-05-02T08:15:30.120034Z");
  expect(timestampOf(7)).toBe("2026-05-02T08:15:30.000000007Z");
});

it("the JSON writer writes the number of a state that has no name here", () => {
  const status = fromBinary(a2a.TaskStatusSchema, Uint8Array.of(8, 77));
  expect(writeJson(a2a.TaskStatusSchema, status)).toEqual({ state: 77 });
});

it("the JSON writer writes a name that would be a prototype as the member that it is", () => {
  // A part whose data has a member `__proto__`, which only the binary form can produce.
  const part = fromBinary(a2a.PartSchema, Buffer.from("22112a0f0a0d0a095f5f70726f746f5f5f1200", "hex"));
  expect(JSON.stringify(writeJson(a2a.PartSchema, part))).toBe('{"data":{"__proto__":null}}');
});
