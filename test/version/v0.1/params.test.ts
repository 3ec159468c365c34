import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Role, type SendMessageRequest } from "../../../src/protocol/model.js";
import { findOperation } from "../../../src/protocol/operations.js";
import { messageJson } from "./arbitrary.js";
import { adapter, anyRequest, codecOf } from "./codecs.js";

const get = codecOf("getTask");
const send = codecOf("sendMessage");

describe("a message of 0.1", () => {
  it("a message of 0.1 passes through the model unchanged", () => {
    fc.assert(
      fc.property(messageJson, (message) => {
        const params = { id: "t", sessionId: "s", message: { ...message, role: "user" } };
        expect(send.writeRequest(send.readRequest(params))).toEqual(params);
      }),
    );
  });

  it("a message of 0.1 has the bytes of a file in either alphabet of base64", () => {
    const request = send.readRequest({ id: "t", message: { role: "user", parts: [fileOf({ bytes: "-_8" })] } });
    const [part] = (request as SendMessageRequest).message?.parts ?? [];
    expect(part?.content).toEqual({ case: "raw", value: new Uint8Array([0xfb, 0xff]) });
  });

  it.each([
    [
      { bytes: "SzQ=", uri: "https://quay.example/k4" },
      { case: "raw", value: new Uint8Array([0x4b, 0x34]) },
    ],
    [
      { bytes: "", uri: "https://quay.example/k4" },
      { case: "url", value: "https://quay.example/k4" },
    ],
    [
      { bytes: null, uri: "https://quay.example/k4" },
      { case: "url", value: "https://quay.example/k4" },
    ],
  ])("a message of 0.1 with the file %j has one content", (file, content) => {
    const request = send.readRequest({ id: "t", message: { role: "user", parts: [fileOf(file)] } });
    expect((request as SendMessageRequest).message?.parts[0]?.content).toEqual(content);
  });

  it.each([
    [{ text: "hello" }, { type: "text", text: "hello" }],
    [{ data: { berth: "K4" } }, { type: "data", data: { berth: "K4" } }],
    [{ file: { uri: "https://quay.example/k4" } }, { type: "file", file: { uri: "https://quay.example/k4" } }],
    [
      { kind: "text", text: "hello" },
      { type: "text", text: "hello" },
    ],
    [
      { type: null, text: "hello", metadata: null },
      { type: "text", text: "hello" },
    ],
  ])("a message of 0.1 with the part %j, which lacks its type, is read as %j", (part, expected) => {
    const read = send.readRequest({ id: "t", message: { role: "user", parts: [part] } });
    expect(send.writeRequest(read)).toMatchObject({ message: { parts: [expected] } });
  });

  it("a message of 0.1 may have its content where one client puts it", () => {
    const message = { role: "user", message_id: "m-7", content: { type: "text", text: "hello" } };
    const { message: read } = send.readRequest({
      id: "t",
      status: { state: "submitted" },
      message,
    }) as SendMessageRequest;
    expect(read).toMatchObject({ messageId: "m-7", parts: [{ content: { case: "text", value: "hello" } }] });
  });

  it("a message of 0.1 gets its own id", () => {
    const params = { id: "t", message: { role: "user", parts: [{ type: "text", text: "yes" }] } };
    const ids = [1, 2].map(() => (send.readRequest(params) as SendMessageRequest).message?.messageId);
    expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(ids[1]).not.toBe(ids[0]);
  });
});

describe("params", () => {
  const message = { role: "user", parts: [{ type: "text", text: "hello" }] };

  it("0.1 params of a send name task and session, and request no history by default", () => {
    expect(send.readRequest({ id: "t", sessionId: "s", message })).toMatchObject({
      message: { taskId: "t", contextId: "s", role: Role.USER },
      configuration: { historyLength: 0, returnImmediately: false },
    });
    expect(send.readRequest({ id: "t", message, historyLength: 3 })).toMatchObject({
      configuration: { historyLength: 3 },
    });
  });

  it("0.1 params of a send may bring a push configuration, which is the one of the task", () => {
    const pushNotification = {
      url: "https://ops.example/hook",
      token: "tk",
      authentication: { schemes: ["Bearer", "Basic"], credentials: "c" },
    };
    const request = send.readRequest({ id: "t", message, pushNotification }) as SendMessageRequest;
    expect(request.configuration?.taskPushNotificationConfig).toMatchObject({
      id: "t",
      url: "https://ops.example/hook",
      token: "tk",
      authentication: { scheme: "Bearer", credentials: "c" },
    });
    expect(send.writeRequest(request)).toMatchObject({
      pushNotification: {
        url: "https://ops.example/hook",
        token: "tk",
        authentication: { schemes: ["Bearer"], credentials: "c" },
      },
    });
  });

  it("0.1 params of a send name modes by words, which become media types", () => {
    const request = send.readRequest({ id: "t", message, acceptedOutputModes: ["text", "text/plain", "image/png"] });
    expect(request).toMatchObject({ configuration: { acceptedOutputModes: ["text/plain", "image/png"] } });
    expect(send.writeRequest(request)).toMatchObject({ acceptedOutputModes: ["text/plain", "text", "image/png"] });
  });

  it.each([
    [{}, 0],
    [{ historyLength: null }, 0],
    [{ historyLength: 0 }, 0],
    [{ historyLength: 7 }, 7],
  ])("0.1 params of a get with %j ask for %d messages", (params, historyLength) => {
    expect(get.readRequest({ id: "t", ...params })).toMatchObject({ id: "t", historyLength });
  });

  it.each([
    [undefined, { id: "t", historyLength: 1000 }],
    [0, { id: "t" }],
    [2, { id: "t", historyLength: 2 }],
  ])("0.1 params of a get for %s messages are %j", (historyLength, params) => {
    const request = { ...anyRequest, id: "t", ...(historyLength === undefined ? {} : { historyLength }) };
    expect(get.writeRequest(request)).toEqual(params);
  });

  it("0.1 params of a cancel keep their metadata", () => {
    const cancel = codecOf("cancelTask");
    const params = { id: "t", metadata: { why: "storm" } };
    expect(cancel.writeRequest(cancel.readRequest(params))).toEqual(params);
  });

  it("0.1 params with null for a push configuration register none", () => {
    const set = codecOf("createTaskPushNotificationConfig");
    const request = set.readRequest({ id: "t", pushNotificationConfig: null });
    expect(request).toMatchObject({ taskId: "t", id: "t", url: "" });
    expect(set.writeReply(request, request)).toEqual({ id: "t", pushNotificationConfig: null });
  });

  it("0.1 params of a push configuration may name the task by the later name", () => {
    const set = codecOf("createTaskPushNotificationConfig");
    const config = { url: "https://ops.example/hook" };
    expect(set.readRequest({ taskId: "t", pushNotificationConfig: config })).toMatchObject({ taskId: "t", ...config });
  });

  it("0.1 params that delete a push configuration set none", () => {
    expect(adapter.findMethod(findOperation("deleteTaskPushNotificationConfig"))).toBe("tasks/pushNotification/set");
    const remove = codecOf("deleteTaskPushNotificationConfig");
    const request = remove.readRequest({ id: "t" });
    expect(remove.writeRequest(request)).toEqual({ id: "t", pushNotificationConfig: null });
    expect(remove.readReply({ id: "t", pushNotificationConfig: null })).toEqual({ $typeName: "google.protobuf.Empty" });
  });
});

function fileOf(file: JsonObject): JsonObject {
  return { type: "file", file };
}
