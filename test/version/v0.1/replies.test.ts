import { create, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  MessageSchema,
  Role,
  type SendMessageResponse,
  type Task,
  type TaskPushNotificationConfig,
  TaskState,
} from "../../../src/protocol/model.js";
import { anyRequest, codecOf, taskOf, text, textPart } from "./codecs.js";

const get = codecOf("getTask");
const send = codecOf("sendMessage");

describe("replies", () => {
  it("0.1 replies with a direct answer are a task that is completed", () => {
    const message = create(MessageSchema, { taskId: "t", contextId: "s", role: Role.AGENT, parts: [textPart("K4")] });
    const reply = { $typeName: "lf.a2a.v1.SendMessageResponse", payload: { case: "message", value: message } } as const;
    expect(send.writeReply(reply as SendMessageResponse, anyRequest)).toEqual({
      id: "t",
      sessionId: "s",
      status: { state: "completed", message: { role: "agent", parts: [{ type: "text", text: "K4" }] } },
    });
  });

  it("0.1 replies of a cancel have no history, because callers cannot request it", () => {
    const task = taskOf({
      id: "t",
      status: { state: TaskState.CANCELED },
      history: [create(MessageSchema, { parts: [textPart("a")] })],
    });
    expect(codecOf("cancelTask").writeReply(task, anyRequest)).toEqual({ id: "t", status: { state: "canceled" } });
    expect(get.writeReply(task, anyRequest)).toHaveProperty("history");
  });

  it("0.1 replies of agents that send the whole history are cut to the requested length", () => {
    const history = ["a", "b", "c"].map((text) => ({ role: "user", parts: [{ type: "text", text }] }));
    const json = { id: "t", status: { state: "working" }, history };
    const lengths = [0, 2, undefined].map((historyLength) => {
      const request = { ...anyRequest, id: "t", ...(historyLength === undefined ? {} : { historyLength }) };
      return (get.readReply(json, request) as Task).history.length;
    });
    expect(lengths).toEqual([0, 2, 3]);
  });

  it.each([
    [
      [
        { index: 0, parts: [text("a")], append: true },
        { index: 0, parts: [text("b")], lastChunk: true },
      ],
      [["0", 2]],
    ],
    [
      [
        { index: 0, parts: [text("a")] },
        { index: 0, parts: [text("b")], append: true },
      ],
      [["0", 2]],
    ],
    [
      [{ parts: [text("a")] }, { parts: [text("b")] }],
      [
        ["0", 1],
        ["1", 1],
      ],
    ],
    [
      [
        { index: 0, parts: [text("a")] },
        { index: 0, parts: [text("b")] },
      ],
      [
        ["0", 1],
        ["1", 1],
      ],
    ],
    [
      [{ index: 4, parts: [text("a")] }, { parts: [text("b")] }, { index: 1, parts: null }],
      [
        ["4", 1],
        ["1", 1],
        ["2", 0],
      ],
    ],
  ])("0.1 replies with the artifacts %j have %j", (artifacts, expected) => {
    const task = get.readReply({ id: "t", status: { state: "working" }, artifacts } as JsonObject) as Task;
    expect(task.artifacts.map(({ artifactId, parts }) => [artifactId, parts.length])).toEqual(expected);
  });

  it("0.1 replies with a part of an unknown type keep it as data", () => {
    const artifacts = [{ index: 0, parts: [{ type: "video", frames: 5 }] }];
    const task = get.readReply({ id: "t", status: { state: "working" }, artifacts });
    expect(get.writeReply(task, anyRequest)).toMatchObject({
      artifacts: [{ parts: [{ type: "data", data: { type: "video", frames: 5 } }] }],
    });
  });

  it.each([undefined, null, [], "done", {}, { id: "t" }, { status: { state: "working" } }])(
    "0.1 replies of %j are no task",
    (json) => {
      expect(() => get.readReply(json)).toThrow(expect.objectContaining({ code: "invalidAgentResponse" }));
    },
  );

  it.each([{ id: "t", pushNotificationConfig: null }, { id: "t", pushNotificationConfig: {} }, { id: "t" }])(
    "0.1 replies of %j mean that there is no push configuration",
    (json) => {
      const one = codecOf("getTaskPushNotificationConfig");
      expect(() => one.readReply(json, one.readRequest({ id: "t" }))).toThrow(
        expect.objectContaining({ code: "taskNotFound" }),
      );
      expect(codecOf("listTaskPushNotificationConfigs").readReply(json)).toMatchObject({
        configs: [],
        nextPageToken: "",
      });
    },
  );

  it("0.1 replies about a push configuration name it by its task", () => {
    const json = { id: "t", pushNotificationConfig: { url: "https://ops.example/hook", token: "tk" } };
    const list = codecOf("listTaskPushNotificationConfigs");
    const { configs } = list.readReply(json) as { configs: TaskPushNotificationConfig[] } & ReturnType<
      typeof list.readReply
    >;
    expect(configs).toMatchObject([{ id: "t", taskId: "t", url: "https://ops.example/hook", token: "tk" }]);
    const set = codecOf("createTaskPushNotificationConfig");
    // An agent may only confirm the request.
    expect(set.readReply({ id: "t" }, set.readRequest(json))).toMatchObject({
      id: "t",
      url: "https://ops.example/hook",
    });
  });
});
