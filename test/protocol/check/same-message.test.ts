import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { isSameMessage } from "../../../src/protocol/check/same-message.js";
import { ArtifactSchema, PartSchema, TaskSchema, TaskState } from "../../../src/protocol/model.js";
import { data, file, text } from "../../../src/protocol/parts.js";

const artifact = (metadata: { [key: string]: string }, ...parts: ReturnType<typeof text>[]) =>
  create(ArtifactSchema, { artifactId: "a", metadata, parts });

describe("messages with equal content", () => {
  it.each([
    [
      "with parts of every kind",
      artifact({}, text("a"), file(Uint8Array.of(1, 2)), data({ a: [1, null, { b: true }] })),
    ],
    ["with nothing", create(TaskSchema)],
    ["with times", create(TaskSchema, { status: { state: TaskState.WORKING, timestamp: { seconds: 7n, nanos: 5 } } })],
  ])("messages with equal content are the same: %s", (_, message) => {
    expect(isSameMessage(message, structuredClone(message))).toBe(true);
  });

  it("messages that are the same may have the keys of free JSON in another order", () => {
    expect(isSameMessage(artifact({ a: "1", b: "2" }), artifact({ b: "2", a: "1" }))).toBe(true);
  });

  it("messages that are the same may hold an unset field, or not, and fields of another schema", () => {
    const plain = create(PartSchema, { content: { case: "text", value: "a" } });
    const padded = { ...plain, metadata: undefined, $unknown: [] };
    expect(isSameMessage(plain, padded)).toBe(true);
  });
});

describe("messages that differ", () => {
  it.each([
    ["in a text", artifact({}, text("a")), artifact({}, text("b"))],
    ["in a byte", artifact({}, file(Uint8Array.of(1, 2))), artifact({}, file(Uint8Array.of(1, 3)))],
    ["in how many bytes", artifact({}, file(Uint8Array.of(1, 2))), artifact({}, file(Uint8Array.of(1)))],
    ["in how many parts", artifact({}, text("a")), artifact({}, text("a"), text("a"))],
    ["in a key", artifact({ a: "1" }), artifact({ b: "1" })],
    ["in a key more", artifact({ a: "1" }), artifact({ a: "1", b: "1" })],
    ["in free JSON", artifact({}, data([1])), artifact({}, data({ 0: 1 }))],
    ["in their kind", create(TaskSchema, { id: "a" }), create(ArtifactSchema)],
  ])("messages that differ are not the same: %s", (_, a, b) => {
    expect(isSameMessage(a, b)).toBe(false);
    expect(isSameMessage(b, a)).toBe(false);
  });
});
