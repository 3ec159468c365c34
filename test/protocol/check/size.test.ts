import { type Message as AnyMessage, create, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { exceedsJsonSize, sizeOfContentIn, sizeOfJson, sizeOfMessage } from "../../../src/protocol/check/size.js";
import { compactValue } from "../../../src/protocol/codec/json/compact-value.js";
import {
  ArtifactSchema,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  SendMessageRequestSchema,
  TaskSchema,
  TaskStatusSchema,
} from "../../../src/protocol/model.js";

/** An object of so many members, which counts how often the first one is read. */
function countedObject(members: number) {
  let reads = 0;
  const object = Object.fromEntries(Array.from({ length: members }, (_, n) => [`key${n}`, n]));
  Object.defineProperty(object, "first", {
    enumerable: true,
    get() {
      reads += 1;
      return 1;
    },
  });
  return { object, reads: () => reads };
}

const partWith = (content: Partial<Part>): Part => ({
  $typeName: "lf.a2a.v1.Part",
  filename: "",
  mediaType: "",
  content: { case: "text", value: "" },
  ...content,
});

const large: Readonly<Record<string, (object: Record<string, number>) => Partial<Message>>> = {
  metadata: (metadata) => ({ metadata }),
  "metadata of a part": (metadata) => ({ parts: [partWith({ metadata })] }),
  "data of a part": (json) => ({ parts: [partWith({ content: { case: "data", value: compactValue(json) } })] }),
};

describe("the size of a message", () => {
  it.each(Object.entries(large))(
    "the size of a message with large %s is measured once, for its copies too",
    (_, fill) => {
      const { object, reads } = countedObject(5000);
      const message: Message = { ...create(MessageSchema, { messageId: "m" }), ...fill(object) };
      const request = { ...create(SendMessageRequestSchema), message };
      const size = sizeOfMessage(message);
      expect(size).toBeGreaterThan(5000 * 80);
      expect(sizeOfMessage(message)).toBe(size);
      expect(sizeOfContentIn(request)).toBe(size);
      expect(sizeOfMessage({ ...message, taskId: "t" })).toBe(size);
      expect(reads()).toBe(1);
    },
  );
});

/** Fields whose length another limit holds, or that have no length. */
const uncounted = new Set([
  ...["Task.id", "Task.context_id", "Message.context_id", "Message.task_id", "Message.role"],
  ...["TaskStatus.state", "TaskStatus.timestamp"],
]);

/** A large value of a field. A field of another message has that message with one large field. */
function largeValue(field: DescField): unknown {
  const { scalar, message } = field;
  const text = "x".repeat(10_000);
  if (field.fieldKind === "list") return field.listKind === "message" ? [largeMessage(field.message)] : [text];
  if (message === undefined) return scalar === ScalarType.BYTES ? Buffer.from(text) : text;
  if (message.typeName === "google.protobuf.Struct") return { text };
  return message.typeName === "google.protobuf.Value" ? compactValue(text) : largeMessage(message);
}

function largeMessage(desc: DescMessage | undefined): AnyMessage {
  const field = desc?.fields.find((each) => !uncounted.has(`${desc.name}.${each.name}`));
  if (desc === undefined || field === undefined) throw new TypeError("the message has no field that counts");
  return messageWith(desc, field);
}

function messageWith(desc: DescMessage, field: DescField): AnyMessage {
  const value = largeValue(field);
  const member = field.oneof
    ? { [field.oneof.localName]: { case: field.localName, value } }
    : { [field.localName]: value };
  return Object.assign(create(desc), member);
}

const counted = [TaskSchema, TaskStatusSchema, MessageSchema, ArtifactSchema, PartSchema].flatMap((desc) =>
  desc.fields.map((field) => ({ name: `${desc.name}.${field.name}`, desc, field })),
);

describe("the size of a task", () => {
  it.each(counted.filter(({ name }) => !uncounted.has(name)))("the size of a task counts $name", ({ desc, field }) => {
    const part = messageWith(desc, field);
    const whole = desc === TaskStatusSchema ? Object.assign(create(TaskSchema), { status: part }) : part;
    const size = sizeOfContentIn(whole);
    expect(size).toBeGreaterThanOrEqual(10_000);
  });

  it("the size of a task leaves out the fields that are listed, and no others", () => {
    const names = new Set(counted.map(({ name }) => name));
    expect([...uncounted].filter((name) => !names.has(name))).toEqual([]);
  });
});

describe("the size of free JSON", () => {
  it("the size of free JSON is measured only as far as a limit asks", () => {
    const { object, reads } = countedObject(5000);
    expect(exceedsJsonSize(object, 1000)).toBe(true);
    expect(reads()).toBe(0);
    expect(exceedsJsonSize([Array(1000).fill(0), object], 1000)).toBe(true);
    expect(reads()).toBe(0);
  });

  it.each([
    ["a text", "x".repeat(100)],
    ["a list", Array(100).fill("x")],
    ["an object", { a: Array(100).fill(1), b: { c: "x".repeat(100) } }],
  ])("the size of free JSON is larger than what is below its size, and not than its size: %s", (_, json) => {
    const size = sizeOfJson(json);
    expect(exceedsJsonSize(json, size - 1)).toBe(true);
    expect(exceedsJsonSize(json, size)).toBe(false);
  });
});
