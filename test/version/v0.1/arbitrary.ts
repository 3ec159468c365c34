import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { valueFromJson } from "../../../src/protocol/codec/json/struct.js";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
  type Task,
  TaskSchema,
  TaskState,
  type TaskStatus,
  TaskStatusSchema,
} from "../../../src/protocol/model.js";
import { arbitraryJson, arbitraryText } from "../../support/arbitrary-message.js";

// Everything that 0.1 can carry, and nothing else.

const metadata: fc.Arbitrary<JsonObject | undefined> = fc.option(
  fc.dictionary(
    arbitraryText.filter((key) => key !== "__proto__"),
    arbitraryJson as fc.Arbitrary<JsonValue>,
    { minKeys: 1, maxKeys: 2, noNullPrototype: true },
  ),
  { nil: undefined },
);

const about = fc.record({ metadata });
const fileAbout = fc.record({ metadata, filename: arbitraryText, mediaType: arbitraryText });

const part: fc.Arbitrary<Part> = fc
  .oneof(
    fc.tuple(
      about,
      arbitraryText.map((value) => ({ case: "text" as const, value })),
    ),
    fc.tuple(
      about,
      arbitraryJson.map((json) => ({ case: "data" as const, value: dataOf(json as JsonValue) })),
    ),
    fc.tuple(
      fileAbout,
      fc.uint8Array({ maxLength: 9 }).map((value) => ({ case: "raw" as const, value })),
    ),
    fc.tuple(
      fileAbout,
      arbitraryText.map((value) => ({ case: "url" as const, value })),
    ),
  )
  .map(([fields, content]) => create(PartSchema, { ...defined(fields), content }));

const parts = fc.array(part, { minLength: 1, maxLength: 3 });

export function dataOf(json: JsonValue): ReturnType<typeof valueFromJson> {
  return valueFromJson(json, { maxDepth: 64, lenient: false, violations: [] }, 1);
}

function arbitraryMessageOf(taskId: string, contextId: string): fc.Arbitrary<Message> {
  return fc
    .record({ role: fc.constantFrom(Role.USER, Role.AGENT), parts, metadata })
    .map((init) => create(MessageSchema, { ...defined(init), taskId, contextId }));
}

/** The states that both versions have. */
const sharedStates = [
  TaskState.UNSPECIFIED,
  TaskState.SUBMITTED,
  TaskState.WORKING,
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.INPUT_REQUIRED,
] as const;

const timestamp = fc
  .record({ seconds: fc.bigInt(0n, 253_402_300_799n), nanos: fc.nat(999_999_999) })
  .map((init) => create(TimestampSchema, init));

function arbitraryStatus(taskId: string, contextId: string): fc.Arbitrary<TaskStatus> {
  return fc
    .record({
      state: fc.constantFrom(...sharedStates),
      message: fc.option(arbitraryMessageOf(taskId, contextId), { nil: undefined }),
      timestamp: fc.option(timestamp, { nil: undefined }),
    })
    .map((init) => create(TaskStatusSchema, defined(init)));
}

const artifacts: fc.Arbitrary<Artifact[]> = fc.array(
  fc
    .record({ name: arbitraryText, description: arbitraryText, parts, metadata })
    .map((init) => create(ArtifactSchema, defined(init))),
  { maxLength: 3 },
);

export const arbitraryTask: fc.Arbitrary<Task> = fc.tuple(fc.uuid(), fc.uuid()).chain(([id, contextId]) =>
  fc
    .record({
      status: arbitraryStatus(id, contextId),
      artifacts,
      history: fc.array(arbitraryMessageOf(id, contextId), { maxLength: 3 }),
      metadata,
    })
    .map((init) => {
      const task = create(TaskSchema, { ...defined(init), id, contextId });
      task.artifacts.forEach((each, index) => {
        each.artifactId = String(index);
      });
      return task;
    }),
);

/** Removes unset members from a record, as in messages. */
function defined<T extends object>(init: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(init).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** Returns a task without its message ids, which 0.1 does not carry. */
export function withoutMessageIds(task: Task): Task {
  const bare = (message: Message): Message => ({ ...message, messageId: "" });
  const { status } = task;
  const shown = status?.message === undefined ? status : { ...status, message: bare(status.message) };
  return { ...task, ...(shown === undefined ? {} : { status: shown }), history: task.history.map(bare) };
}

/** Any part of 0.1's JSON. */
const partJson: fc.Arbitrary<JsonObject> = fc
  .tuple(
    fc.oneof(
      fc.record({ type: fc.constant("text"), text: arbitraryText }),
      fc.record({
        type: fc.constant("data"),
        data: arbitraryJson.filter((json) => typeof json === "object" && json !== null),
      }),
      fc.record({
        type: fc.constant("file"),
        file: fc.oneof(
          fc.record(
            { name: nonEmpty(), mimeType: nonEmpty(), bytes: fc.uint8Array({ maxLength: 9 }).map(base64) },
            { requiredKeys: ["bytes"] },
          ),
          fc.record({ name: nonEmpty(), uri: fc.webUrl() }, { requiredKeys: ["uri"] }),
          fc.record({ name: nonEmpty(), mimeType: nonEmpty() }, { requiredKeys: ["name"] }),
        ),
      }),
    ),
    metadata,
  )
  .map(([json, meta]) => ({ ...json, ...(meta === undefined ? {} : { metadata: meta }) }) as JsonObject);

function nonEmpty(): fc.Arbitrary<string> {
  return arbitraryText.filter((text) => text !== "");
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

export const messageJson: fc.Arbitrary<JsonObject> = fc
  .record({
    role: fc.constantFrom("user", "agent"),
    parts: fc.array(partJson, { minLength: 1, maxLength: 3 }),
  })
  .map((json) => json as JsonObject);
