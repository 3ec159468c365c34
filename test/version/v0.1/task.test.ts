import { create, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MessageSchema, PartSchema, Role, type Task, type TaskSchema, TaskState } from "../../../src/protocol/model.js";
import { arbitraryTask, dataOf, withoutMessageIds } from "./arbitrary.js";
import { anyRequest, codecOf, taskOf, textPart } from "./codecs.js";

const get = codecOf("getTask");

describe("a task", () => {
  it("a task passes through 0.1 unchanged, except for the ids of its messages", () => {
    fc.assert(
      fc.property(arbitraryTask, (task) => {
        const read = get.readReply(get.writeReply(task, anyRequest)) as Task;
        expect(withoutMessageIds(read)).toEqual(withoutMessageIds(task));
      }),
    );
  });

  it("a task of 0.1 is the same each time it is read", () => {
    fc.assert(
      fc.property(arbitraryTask, (task) => {
        const json = get.writeReply(task, anyRequest);
        const read = get.readReply(json) as Task;
        expect(get.readReply(json)).toEqual(read);
        expect(get.writeReply(read, anyRequest)).toEqual(json);
        const ids = read.history.map(({ messageId }) => messageId);
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });

  it("a task of 0.1 distinguishes messages with equal content", () => {
    const history = [1, 2, 3].map(() => ({ role: "user", parts: [{ type: "text", text: "yes" }] }));
    const task = get.readReply({ id: "t", status: { state: "working" }, history }) as Task;
    expect(new Set(task.history.map(({ messageId }) => messageId)).size).toBe(3);
    const other = get.readReply({ id: "u", status: { state: "working" }, history }) as Task;
    expect(other.history[0]?.messageId).not.toBe(task.history[0]?.messageId);
  });

  it("a task of 0.1 keeps the id of a message that moves from the status to the history", () => {
    const message = { role: "agent", parts: [{ type: "text", text: "Which berth?" }] };
    const before = get.readReply({ id: "t", status: { state: "input-required", message } }) as Task;
    const after = get.readReply({ id: "t", status: { state: "working" }, history: [message] }) as Task;
    expect(after.history[0]?.messageId).toBe(before.status?.message?.messageId);
  });

  it.each([
    ["submitted", TaskState.SUBMITTED],
    ["working", TaskState.WORKING],
    ["input-required", TaskState.INPUT_REQUIRED],
    ["completed", TaskState.COMPLETED],
    ["canceled", TaskState.CANCELED],
    ["failed", TaskState.FAILED],
    ["unknown", TaskState.UNSPECIFIED],
  ])("a task of 0.1 has the state %s in both directions", (state, expected) => {
    const task = get.readReply({ id: "t", status: { state } }) as Task;
    expect(task.status?.state).toBe(expected);
    expect(get.writeReply(task, anyRequest)).toEqual({ id: "t", status: { state } });
  });

  it.each([
    ["2025-05-19T10:00:00", "2025-05-19T10:00:00.000Z"],
    ["2025-05-19T10:00:00.123456", "2025-05-19T10:00:00.123456Z"],
    ["2025-05-19 10:00:00+02:00", "2025-05-19T08:00:00.000Z"],
  ])("a task of 0.1 has its time %s as %s", (timestamp, written) => {
    const task = get.readReply({ id: "t", status: { state: "working", timestamp } });
    expect(get.writeReply(task, anyRequest)).toEqual({ id: "t", status: { state: "working", timestamp: written } });
  });

  it.each(["soon", 12, {}])("a task of 0.1 has no time if an agent sends %j for it", (timestamp) => {
    const task = get.readReply({ id: "t", status: { state: "working", timestamp } });
    expect(get.writeReply(task, anyRequest)).toEqual({ id: "t", status: { state: "working" } });
  });

  it("a task of 0.1 treats null as missing", () => {
    const json = {
      id: "t",
      sessionId: null,
      status: { state: "working", message: null, timestamp: null },
      artifacts: null,
      history: null,
      metadata: null,
    };
    expect(get.writeReply(get.readReply(json), anyRequest)).toEqual({ id: "t", status: { state: "working" } });
  });
});

describe("what the model has and 0.1 has not", () => {
  const lost = (task: MessageInitShape<typeof TaskSchema>): JsonValue => get.writeReply(taskOf(task), anyRequest);
  const status = { state: TaskState.WORKING };

  it.each([
    [TaskState.REJECTED, "failed"],
    [TaskState.AUTH_REQUIRED, "input-required"],
  ])("the state %s, which 0.1 does not have, is written as %s", (state, word) => {
    expect(lost({ id: "t", status: { state } })).toEqual({ id: "t", status: { state: word } });
  });

  it("ids of messages, what they refer to, and extensions are left out in 0.1", () => {
    const message = create(MessageSchema, {
      messageId: "m",
      taskId: "t",
      contextId: "c",
      role: Role.USER,
      parts: [textPart("hello")],
      extensions: ["urn:x"],
      referenceTaskIds: ["other"],
    });
    const artifacts = [{ artifactId: "0", parts: [textPart("K4")], extensions: ["urn:x"] }];
    expect(lost({ id: "t", status, history: [message], artifacts })).toEqual({
      id: "t",
      status: { state: "working" },
      artifacts: [{ index: 0, parts: [{ type: "text", text: "K4" }] }],
      history: [{ role: "user", parts: [{ type: "text", text: "hello" }] }],
    });
  });

  it("the media type and the name of a text or a value are left out in 0.1", () => {
    const parts = [
      create(PartSchema, { content: { case: "text", value: "a" }, mediaType: "text/markdown", filename: "a.md" }),
      create(PartSchema, { content: { case: "data", value: dataOf([1]) }, mediaType: "application/json" }),
    ];
    expect(lost({ id: "t", status, artifacts: [{ artifactId: "0", parts }] })).toMatchObject({
      artifacts: [
        {
          parts: [
            { type: "text", text: "a" },
            { type: "data", data: [1] },
          ],
        },
      ],
    });
  });

  it("artifacts are numbered in order in 0.1, whatever their ids were", () => {
    const artifacts = ["berth", "0", "7"].map((artifactId) => ({ artifactId, parts: [textPart(artifactId)] }));
    const json = lost({ id: "t", status, artifacts }) as { artifacts: { index: number }[] };
    expect(json.artifacts.map(({ index }) => index)).toEqual([0, 1, 2]);
    const read = get.readReply(json) as Task;
    expect(read.artifacts.map(({ artifactId }) => artifactId)).toEqual(["0", "1", "2"]);
  });

  it("a part of an unknown kind is left out in 0.1", () => {
    expect(
      lost({ id: "t", status, artifacts: [{ artifactId: "0", parts: [create(PartSchema), textPart("a")] }] }),
    ).toMatchObject({
      artifacts: [{ parts: [{ type: "text", text: "a" }] }],
    });
  });

  it("a value that is no object is wrapped in one in 0.1, and unwrapped again", () => {
    const parts = [create(PartSchema, { content: { case: "data", value: dataOf("K4") } })];
    const json = lost({ id: "t", status, artifacts: [{ artifactId: "0", parts }] });
    expect(json).toMatchObject({
      artifacts: [{ parts: [{ type: "data", data: { value: "K4" }, metadata: { data_part_compat: true } }] }],
    });
    expect((get.readReply(json) as Task).artifacts[0]?.parts).toEqual(parts);
  });

  it("the tenant, and paging, are left out of requests of 0.1", () => {
    const request = { ...anyRequest, tenant: "acme", id: "t" };
    expect(get.writeRequest(request)).toEqual({ id: "t", historyLength: 1000 });
  });
});
