import { toJson } from "@bufbuild/protobuf";
import {
  artifact,
  authRequired,
  canceled,
  completed,
  data,
  failed,
  inputRequired,
  rejected,
  reply,
  text,
  working,
} from "trivium";
import { describe, expect, it } from "vitest";
import { MessageSchema, TaskArtifactUpdateEventSchema, TaskStatusUpdateEventSchema } from "../../src/protocol/model.js";

const message = { role: "ROLE_AGENT", parts: [{ text: "so" }] };

describe.each([
  ["TASK_STATE_WORKING", working],
  ["TASK_STATE_COMPLETED", completed],
  ["TASK_STATE_FAILED", failed],
  ["TASK_STATE_REJECTED", rejected],
  ["TASK_STATE_CANCELED", canceled],
  ["TASK_STATE_INPUT_REQUIRED", inputRequired],
  ["TASK_STATE_AUTH_REQUIRED", authRequired],
] as const)("a status event of %s", (state, make) => {
  it("a status event has no message, time or ids: the turn fills them in", () => {
    expect(toJson(TaskStatusUpdateEventSchema, make())).toEqual({ status: { state } });
  });

  it("a status event may have a text and metadata", () => {
    const event = make("so", { metadata: { a: 1 } });
    expect(toJson(TaskStatusUpdateEventSchema, event)).toEqual({
      status: { state, message },
      metadata: { a: 1 },
    });
  });
});

describe("an artifact event", () => {
  it("an artifact event is a whole artifact, and the turn chooses its id", () => {
    expect(toJson(TaskArtifactUpdateEventSchema, artifact("x"))).toEqual({ artifact: { parts: [{ text: "x" }] } });
  });

  it("an artifact event takes every member of an artifact, and its position in a sequence of chunks", () => {
    const members = { name: "n", description: "d", artifactId: "a", extensions: ["urn:e"], metadata: { m: [1] } };
    const event = artifact([text("x"), data(1)], { ...members, append: true, lastChunk: true });
    const parts = [{ text: "x" }, { data: 1, mediaType: "application/json" }];
    expect(toJson(TaskArtifactUpdateEventSchema, event)).toEqual({
      artifact: { ...members, parts },
      append: true,
      lastChunk: true,
    });
  });

  it("an artifact event that appends to an artifact must name its id", () => {
    expect(() => artifact("x", { append: true })).toThrow("append needs the artifactId");
    expect(() => artifact("x", { append: false, lastChunk: true })).not.toThrow();
  });

  it("an artifact event keeps its list of extensions when the caller's changes", () => {
    const extensions = ["urn:e"];
    const event = artifact("x", { extensions });
    extensions.pop();
    expect(event.artifact?.extensions).toEqual(["urn:e"]);
  });
});

describe("a reply", () => {
  it("a reply is a message of the agent, and the turn fills in its ids", () => {
    expect(toJson(MessageSchema, reply("so"))).toEqual(message);
  });

  it("a reply takes metadata and extensions", () => {
    const members = { metadata: { a: 1 }, extensions: ["urn:e"] };
    expect(toJson(MessageSchema, reply("so", members))).toEqual({ ...message, ...members });
  });
});

it.each([
  ["artifact", artifact],
  ["reply", reply],
  ["working", working],
] as const)("the call %s() without any part is refused where it is called", (_, make) => {
  expect(() => make([])).toThrow(TypeError);
});
