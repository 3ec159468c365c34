import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { isLargerJson, sizeOfContentIn, sizeOfJson, sizeOfMessage } from "../../../src/protocol/check/size.js";
import { compactValue } from "../../../src/protocol/codec/json/compact-value.js";
import { type Message, MessageSchema, type Part, SendMessageRequestSchema } from "../../../src/protocol/model.js";

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
  it.each(Object.entries(large))("with large %s is measured once, for its copies too", (_, fill) => {
    const { object, reads } = countedObject(5000);
    const message: Message = { ...create(MessageSchema, { messageId: "m" }), ...fill(object) };
    const request = { ...create(SendMessageRequestSchema), message };
    const size = sizeOfMessage(message);
    expect(size).toBeGreaterThan(5000 * 80);
    expect(sizeOfMessage(message)).toBe(size);
    expect(sizeOfContentIn(request)).toBe(size);
    expect(sizeOfMessage({ ...message, taskId: "t" })).toBe(size);
    expect(reads()).toBe(1);
  });
});

describe("the size of free JSON", () => {
  it("is measured only as far as a limit asks", () => {
    const { object, reads } = countedObject(5000);
    expect(isLargerJson(object, 1000)).toBe(true);
    expect(reads()).toBe(0);
    expect(isLargerJson([Array(1000).fill(0), object], 1000)).toBe(true);
    expect(reads()).toBe(0);
  });

  it.each([
    ["a text", "x".repeat(100)],
    ["a list", Array(100).fill("x")],
    ["an object", { a: Array(100).fill(1), b: { c: "x".repeat(100) } }],
  ])("is larger than what is below its size, and not than its size: %s", (_, json) => {
    const size = sizeOfJson(json);
    expect(isLargerJson(json, size - 1)).toBe(true);
    expect(isLargerJson(json, size)).toBe(false);
  });
});
