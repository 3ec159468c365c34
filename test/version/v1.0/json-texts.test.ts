import type { Message as AnyMessage, DescMessage } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { validate } from "../../../src/protocol/check/validate.js";
import { compactValue } from "../../../src/protocol/codec/json/compact-value.js";
import {
  type Artifact,
  type ListTasksResponse,
  type Message,
  type Part,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
} from "../../../src/protocol/model.js";
import { operations } from "../../../src/protocol/operations.js";
import { defaultValidationLimits } from "../../../src/protocol/validation-limits.js";
import { jsonCodecs } from "../../../src/version/v1.0/json.js";
import { jsonTexts, pageTexts } from "../../../src/version/v1.0/json-texts.js";

const codecs = jsonCodecs(defaultValidationLimits, {
  validateRead: validate,
  foreignNamesIn: () => [],
  jsonTexts,
  pageTexts,
});

function codecOf(name: string) {
  const operation = operations.find((each) => each.name === name);
  if (operation === undefined) throw new Error(`no operation ${name}`);
  return codecs(operation);
}

// Short, long, and beyond what a piece holds; with characters of two units, half characters, and escapes.
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc
    .tuple(
      fc.constantFrom("x", "\u{1f600}", "é\n", '"\\', "\ud800", "\udc00\ud83d"),
      fc.constantFrom(1, 20, 32_768, 70_001),
    )
    .map(([unit, count]) => unit.repeat(count)),
);

const part: fc.Arbitrary<Part> = fc.record({
  $typeName: fc.constant("lf.a2a.v1.Part" as const),
  content: fc.oneof(
    text.map((value) => ({ case: "text" as const, value })),
    fc.jsonValue().map((json) => ({ case: "data" as const, value: compactValue(json as never) })),
    fc.uint8Array({ maxLength: 100 }).map((value) => ({ case: "raw" as const, value })),
  ),
  filename: fc.constantFrom("", "a.txt"),
  mediaType: fc.constantFrom("", "text/plain"),
});

const parts = fc.array(part, { maxLength: 2 });

const artifact: fc.Arbitrary<Artifact> = fc.record({
  $typeName: fc.constant("lf.a2a.v1.Artifact" as const),
  artifactId: fc.string(),
  name: fc.constantFrom("", "name"),
  description: fc.constant(""),
  extensions: fc.constantFrom([], ["urn:x"]),
  parts,
});

const message: fc.Arbitrary<Message> = fc.record({
  $typeName: fc.constant("lf.a2a.v1.Message" as const),
  messageId: fc.string(),
  contextId: fc.constant(""),
  taskId: fc.constant(""),
  role: fc.constantFrom(Role.AGENT, Role.USER),
  parts,
  extensions: fc.constant([]),
  referenceTaskIds: fc.constant([]),
});

const task: fc.Arbitrary<Task> = fc
  .record({ artifacts: fc.array(artifact, { maxLength: 3 }), history: fc.array(message, { maxLength: 1 }) })
  .map(({ artifacts, history }) => ({
    $typeName: "lf.a2a.v1.Task",
    id: "t",
    contextId: "c",
    status: { $typeName: "lf.a2a.v1.TaskStatus", state: TaskState.WORKING },
    artifacts,
    history,
    metadata: { some: ["json"] },
  }));

const joined = (desc: DescMessage, value: AnyMessage): unknown => JSON.parse([...jsonTexts(desc, value)].join(""));

const runs = { numRuns: 40 };

describe("the JSON text of a large message in pieces", () => {
  it("the JSON text of a large message in pieces says what the whole text says", () => {
    fc.assert(
      fc.property(task, (value) => {
        const whole = codecOf("getTask").writeReply(value, value);
        expect(joined(TaskSchema, value)).toEqual(JSON.parse(JSON.stringify(whole)));
        const event: StreamResponse = {
          $typeName: "lf.a2a.v1.StreamResponse",
          payload: { case: "task", value },
        };
        expect(joined(StreamResponseSchema, event)).toEqual({ task: JSON.parse(JSON.stringify(whole)) });
      }),
      runs,
    );
  });

  it("the JSON text of a page of tasks in pieces says what the whole text says, with and without artifacts", () => {
    fc.assert(
      fc.property(fc.array(task, { maxLength: 3 }), fc.boolean(), (tasks, includeArtifacts) => {
        const codec = codecOf("listTasks");
        const request = codec.readRequest({ includeArtifacts });
        const page: ListTasksResponse = {
          $typeName: "lf.a2a.v1.ListTasksResponse",
          tasks,
          nextPageToken: "next",
          pageSize: 4,
          totalSize: 9,
        };
        const texts = codec.replyTexts?.(page, request) ?? [];
        expect(JSON.parse([...texts].join(""))).toEqual(JSON.parse(JSON.stringify(codec.writeReply(page, request))));
      }),
      runs,
    );
  });

  it("the JSON text of a large message has no piece of more than some ten kilobytes, whatever is large", () => {
    const large = (count: number, length: number): Task => ({
      $typeName: "lf.a2a.v1.Task",
      id: "t",
      contextId: "c",
      artifacts: Array.from({ length: count }, (_, n) => ({
        $typeName: "lf.a2a.v1.Artifact" as const,
        artifactId: `a${n}`,
        name: "",
        description: "",
        extensions: [],
        parts: [
          {
            $typeName: "lf.a2a.v1.Part" as const,
            content: { case: "text" as const, value: "x".repeat(length) },
            filename: "",
            mediaType: "",
          },
        ],
      })),
      history: [],
    });
    for (const value of [large(50_000, 0), large(1, 4_000_000), large(100, 60_000), large(10, 70_000)]) {
      const texts = [...jsonTexts(TaskSchema, value)];
      expect(Math.max(...texts.map((each) => each.length))).toBeLessThan(100_000);
      expect(texts.join("") === JSON.stringify(codecOf("getTask").writeReply(value, value))).toBe(true);
    }
  });

  const members = (count: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${n}`, value]));
  it.each<readonly [string, unknown]>([
    ["an object of many names", members(50_000, 1)],
    ["a list of many numbers", Array(200_000).fill(1)],
    ["a list of rows", Array.from({ length: 20_000 }, (_, id) => ({ id, name: `n${id}` }))],
    ["large objects in each other", { a: members(20_000, null), b: [[members(20_000, true)], "x".repeat(200_000)] }],
    ["a long text in a long list", [...Array(50_000).fill(0), "x".repeat(200_000), ...Array(50_000).fill("y")]],
  ])("the JSON text of a large message has no large piece of free JSON either: %s", (_, json) => {
    const metadata = { json } as NonNullable<Task["metadata"]>;
    const value: Task = {
      ...{ $typeName: "lf.a2a.v1.Task", id: "t", contextId: "c", history: [], metadata },
      artifacts: [
        {
          ...{ $typeName: "lf.a2a.v1.Artifact", artifactId: "a", name: "", description: "", extensions: [] },
          parts: [
            {
              ...{ $typeName: "lf.a2a.v1.Part", filename: "", mediaType: "" },
              content: { case: "data", value: compactValue(json as never) },
            },
          ],
        },
      ],
    };
    const texts = [...jsonTexts(TaskSchema, value)];
    expect(Math.max(...texts.map((each) => each.length))).toBeLessThan(150_000);
    expect(texts.join("") === JSON.stringify(codecOf("getTask").writeReply(value, value))).toBe(true);
  });
});
