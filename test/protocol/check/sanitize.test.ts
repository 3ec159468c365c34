import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ListTasksResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { sanitize, sanitizeJson } from "../../../src/protocol/check/sanitize.js";
import { readJson } from "../../../src/protocol/codec/json/reader.js";
import { writeJson } from "../../../src/protocol/codec/json/writer.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { type Artifact, ArtifactSchema, type Message, MessageSchema, TaskState } from "../../../src/protocol/model.js";
import { data, text } from "../../../src/protocol/parts.js";
import { arbitraryMessage } from "../../support/arbitrary-message.js";

// The depth of artifacts and messages in the largest reply, a page of tasks.
const depth = 5;

function pageOf(artifacts: Artifact[], history: Message[]) {
  const status = { state: TaskState.COMPLETED };
  return create(ListTasksResponseSchema, { tasks: [{ id: "t", contextId: "c", status, artifacts, history }] });
}

/** Asserts that a page of tasks can be written in both forms and read by the strictest reader. */
function expectSendable(artifacts: Artifact[], history: Message[]): void {
  const page = pageOf(artifacts, history);
  const json = JSON.stringify(writeJson(ListTasksResponseSchema, page));
  expect(readJson(ListTasksResponseSchema, JSON.parse(json)).violations).toEqual([]);
  expect(toBinary(ListTasksResponseSchema, page).length).toBeGreaterThan(0);
}

const faultOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof A2AError && error.code === "invalidAgentResponse") return error.message;
    throw error;
  }
  return "";
};

it.each([ArtifactSchema, MessageSchema])("a valid $typeName is returned itself, without a copy", (desc) => {
  fc.assert(
    fc.property(arbitraryMessage(desc), (message) => {
      // The generator's texts are well-formed; a part without content is invalid.
      fc.pre(message.parts.every(({ content }) => content.case !== undefined));
      expect(sanitize(desc, message, { name: "it", depth })).toBe(message);
    }),
  );
});

describe("arbitrary values from an agent", () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withTypedArray: true,
    withSparseArray: true,
  });
  const content = fc.record({ case: fc.constantFrom("text", "raw", "url", "data", "nope"), value: anything });
  const value = fc.record({
    case: fc.constantFrom("structValue", "listValue", "stringValue", "numberValue"),
    value: anything,
  });
  const dataContent = fc.record({ case: fc.constant("data"), value: fc.record({ kind: value }) });
  const part = fc.oneof(
    anything,
    fc.record({ content: fc.oneof(content, dataContent), metadata: anything }, { requiredKeys: ["content"] }),
  );
  const fields = { name: anything, parts: fc.array(part, { maxLength: 2 }), metadata: anything, extensions: anything };
  const things = fc.oneof(anything, fc.record(fields, { requiredKeys: ["parts"] }));

  it("an arbitrary value from an agent is refused, or can be written by every binding and read by every reader", () => {
    fc.assert(
      fc.property(things, (thing) => {
        const fault = faultOf(() => expectSendable([sanitize(ArtifactSchema, thing, { name: "artifact", depth })], []));
        if (fault === "")
          expectSendable([], [sanitize(MessageSchema, { ...Object(thing), taskId: "" }, { name: "message", depth })]);
        else expect(fault).toMatch(/^the event cannot be sent: artifact/);
      }),
      { numRuns: 1_000 },
    );
  });

  it("an arbitrary value of JSON gives the same value as JSON.stringify", () => {
    const json = fc.dictionary(
      fc.string().filter((key) => key !== "__proto__"),
      fc.oneof(fc.jsonValue(), fc.date({ noInvalidDate: true }), fc.constant(undefined)),
    );
    fc.assert(
      fc.property(json, (object) => {
        fc.pre(!JSON.stringify(object).includes('"__proto__":'));
        expect(JSON.stringify(sanitizeJson(object, { name: "metadata", depth }))).toBe(JSON.stringify(object));
      }),
    );
  });
});

describe("JSON may be as deep as the readers of a page of tasks take it", () => {
  const nested = (levels: number): object => (levels === 0 ? {} : { deep: nested(levels - 1) });
  const artifact = (levels: number) => ({ parts: [text("x")], metadata: nested(levels) });

  it("JSON may be as deep as the readers of a page of tasks take it, and no deeper", () => {
    const most = Array.from({ length: 70 }, (_, levels) => levels).findLast(
      (levels) => faultOf(() => sanitize(ArtifactSchema, artifact(levels), { name: "artifact", depth })) === "",
    );
    expect(most).toBeGreaterThan(50);
    const page = (levels: number) => ({
      tasks: [{ id: "t", artifacts: [{ artifactId: "a", parts: [], metadata: nested(levels) }] }],
    });
    expect(readJson(ListTasksResponseSchema, page(most ?? 0) as never).violations).toEqual([]);
    expect(readJson(ListTasksResponseSchema, page((most ?? 0) + 1) as never).violations).toHaveLength(1);
  });
});

it.each([
  ["artifact.parts[1].text must be a string, not 7", { parts: [text("x"), { content: { case: "text", value: 7 } }] }],
  ["artifact.parts[0] needs one of text, raw, url, data", { parts: [{}] }],
  [
    "artifact.parts[1].data must be a google.protobuf.Value",
    { parts: [data({ a: [1] }), { content: { case: "data", value: {} } }] },
  ],
  ["artifact.metadata.a[1].b must be JSON, not of type function", { metadata: { a: [1, { b: () => 1 }] } }],
  ["artifact.name must be a string, not null", { name: null }],
  ["artifact must be an object, not of type string", "text"],
])("a refused value names the path of the violation: %s", (message, source) => {
  expect(faultOf(() => sanitize(ArtifactSchema, source, { name: "artifact", depth }))).toContain(message);
});
