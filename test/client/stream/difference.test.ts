import { create, equals, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { expect, it } from "vitest";
import { findDifference, isSameContent } from "../../../src/client/stream/difference.js";
import { applyEvent, copyTask, emptyTask } from "../../../src/protocol/fold.js";
import {
  type Artifact,
  ArtifactSchema,
  type Part,
  PartSchema,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
} from "../../../src/protocol/model.js";
import { textIn } from "../../support/say.js";
import { tries } from "../../support/tries.js";

const ids = { taskId: "t", contextId: "c" };
const text = (value: string, rest: MessageInitShape<typeof PartSchema> = {}): Part =>
  create(PartSchema, { ...rest, content: { case: "text", value } });

interface ArtifactInit {
  readonly artifactId?: string;
  readonly parts: Part[];
  readonly append?: boolean;
  readonly metadata?: JsonObject | undefined;
  readonly name?: string;
}

function artifactEvent({ artifactId = "a", parts, append = false, metadata, name = "" }: ArtifactInit): StreamResponse {
  const artifact = create(ArtifactSchema, { artifactId, name, parts, ...(metadata && { metadata }) });
  return create(StreamResponseSchema, {
    payload: { case: "artifactUpdate", value: { ...ids, artifact, append } },
  });
}

function statusEvent(state: TaskState, words?: string, metadata?: JsonObject | undefined): StreamResponse {
  const message = words === undefined ? {} : { message: { messageId: words, role: Role.AGENT, parts: [text(words)] } };
  return create(StreamResponseSchema, {
    payload: { case: "statusUpdate", value: { ...ids, status: { state, ...message }, ...(metadata && { metadata }) } },
  });
}

function foldAll(from: Task, events: readonly StreamResponse[]): Task {
  const task = copyTask(from);
  for (const event of events) applyEvent(task, event);
  return task;
}

const fresh = emptyTask("t", "c");

// Few distinct values, so that equal ones are frequent.
const arbitraryMetadata = fc.option(
  fc.dictionary(fc.constantFrom("k", "l"), fc.oneof(fc.nat(2), fc.constant<JsonObject>({ deep: [1] })), {
    minKeys: 1,
    noNullPrototype: true,
  }),
  { nil: undefined },
);
const arbitraryPart = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("", "a", "ab", "b", "é😀").map((value) => text(value)) },
  fc.constantFrom("a", "ab").map((value) => text(value, { filename: "f" })),
  fc.constantFrom("a", "ab").map((value) => text(value, { mediaType: "text/x", metadata: { m: 1 } })),
  fc.uint8Array({ maxLength: 2 }).map((value) => create(PartSchema, { content: { case: "raw", value } })),
  fc.constant(create(PartSchema, { content: { case: "url", value: "https://x.example/" } })),
);
const arbitraryArtifact = fc
  .record({
    artifactId: fc.constantFrom("a", "b", "c"),
    parts: fc.array(arbitraryPart, { minLength: 1, maxLength: 3 }),
    append: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
    metadata: arbitraryMetadata,
    name: fc.constantFrom("", "", "", "n"),
  })
  .map(artifactEvent);
let messageCount = 0;
const arbitraryStatus = fc
  .record({
    state: fc.constantFrom(TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.COMPLETED),
    speaks: fc.boolean(),
    metadata: arbitraryMetadata,
  })
  .map(({ state, speaks, metadata }) => statusEvent(state, speaks ? `said ${++messageCount}` : undefined, metadata));
const arbitraryEvents = fc.array(fc.oneof({ weight: 3, arbitrary: arbitraryArtifact }, arbitraryStatus), {
  maxLength: 8,
});

/** Splits joined parts again, as some agents keep them. */
function inPieces(task: Task, at: number): Task {
  const split = (part: Part): Part[] => {
    const { content } = part;
    if (content.case !== "text" || part.filename !== "" || part.metadata !== undefined) return [part];
    return [
      text(content.value.slice(0, at), { mediaType: part.mediaType }),
      text(content.value.slice(at), { mediaType: part.mediaType }),
    ];
  };
  const artifacts = task.artifacts.map((artifact): Artifact => ({ ...artifact, parts: artifact.parts.flatMap(split) }));
  return { ...task, artifacts };
}

function addUpAlike(a: Task, b: Task): boolean {
  const whole = (task: Task): Task => foldAll(fresh, task.artifacts.flatMap(piecesOf));
  const head = (task: Task): Task => ({ ...task, artifacts: whole(task).artifacts });
  return equals(TaskSchema, head(a), head(b));
}

// The events that build an artifact piece by piece.
function piecesOf({ parts, ...head }: Artifact): StreamResponse[] {
  const chunk = (artifact: Artifact, append: boolean): StreamResponse =>
    create(StreamResponseSchema, { payload: { case: "artifactUpdate", value: { ...ids, artifact, append } } });
  return [chunk({ ...head, parts: [] }, false), ...parts.map((part) => chunk({ ...head, parts: [part] }, true))];
}

/** Whether a later event equals an earlier one, so that the difference cannot contain both. */
function losesSomething(knownTask: Task, events: readonly StreamResponse[]): boolean {
  let task = copyTask(knownTask);
  for (const event of events) {
    const { payload } = event;
    const { status } = task;
    if (payload.case === "statusUpdate") {
      // A message that was not the reader's last status appears only in the history.
      const wasHeard = knownTask.status?.message === status?.message;
      if (status?.message !== undefined && !wasHeard) return true;
    }
    if (payload.case === "artifactUpdate") {
      const { artifact, append } = payload.value;
      const before = knownTask.artifacts.find(({ artifactId }) => artifactId === artifact?.artifactId);
      if (before !== undefined && (!append || artifact?.metadata !== undefined)) return true;
    }
    task = foldAll(task, [event]);
  }
  return false;
}

it("the difference leads from the known task to the current one, whatever happened in between", () => {
  const runs = tries(1000, 3000);
  let eventCount = 0;
  fc.assert(
    fc.property(arbitraryEvents, arbitraryEvents, fc.nat(3), fc.boolean(), (firstEvents, missed, at, cut) => {
      const knownTask = foldAll(fresh, firstEvents);
      const now = foldAll(knownTask, missed);
      const target = cut ? inPieces(now, at) : now;
      const events = findDifference(knownTask, target);
      if (events === undefined) {
        expect(losesSomething(knownTask, missed)).toBe(true);
        return;
      }
      eventCount += events.length;
      expect(addUpAlike(foldAll(knownTask, events), now)).toBe(true);
    }),
    { numRuns: runs },
  );
  expect(eventCount).toBeGreaterThan(runs / 6);
});

it("the difference between a task and itself is nothing, however its text was kept", () => {
  fc.assert(
    fc.property(arbitraryEvents, fc.nat(3), (events, at) => {
      const task = foldAll(fresh, events);
      expect(findDifference(task, copyTask(task))).toEqual([]);
      expect(findDifference(inPieces(task, at), task)).toEqual([]);
      expect(findDifference(task, inPieces(task, at))).toEqual([]);
    }),
    { numRuns: 1000 },
  );
});

it("the difference returns what was added to a text, as one chunk", () => {
  const knownTask = foldAll(fresh, [artifactEvent({ parts: [text("one ")] })]);
  const now = foldAll(
    knownTask,
    ["two ", "three"].map((value) => artifactEvent({ parts: [text(value)], append: true })),
  );
  const [event, ...others] = findDifference(knownTask, now) ?? [];
  expect(others).toEqual([]);
  expect(event?.payload).toMatchObject({ case: "artifactUpdate", value: { append: true, ...ids } });
  if (event?.payload.case === "artifactUpdate") expect(textIn(event.payload.value.artifact?.parts)).toBe("two three");
});

it("the difference gives a status once, with the metadata that is new", () => {
  const knownTask = foldAll(fresh, [statusEvent(TaskState.WORKING, "w", { k: 1 })]);
  const now = foldAll(knownTask, [statusEvent(TaskState.COMPLETED, "c", { l: 2 })]);
  expect(findDifference(knownTask, now)).toMatchObject([
    { payload: { case: "statusUpdate", value: { status: { state: TaskState.COMPLETED }, metadata: { l: 2 } } } },
  ]);
});

const base = foldAll(fresh, [
  artifactEvent({ parts: [text("one")], metadata: { k: 1 } }),
  artifactEvent({ artifactId: "b", parts: [text("two", { filename: "f" })] }),
  statusEvent(TaskState.WORKING, "w", { k: 1 }),
]);
const [a, b] = base.artifacts;

const replaced: readonly (readonly [what: string, now: Partial<Task>])[] = [
  ["another task", { id: "u" }],
  ["a lost artifact", { artifacts: base.artifacts.slice(1) }],
  ["another text", { artifacts: base.artifacts.with(0, { ...(a as Artifact), parts: [text("own")] }) }],
  ["a shorter text", { artifacts: base.artifacts.with(0, { ...(a as Artifact), parts: [text("on")] }) }],
  ["a lost part", { artifacts: base.artifacts.with(0, { ...(a as Artifact), parts: [] }) }],
  ["another name", { artifacts: base.artifacts.with(0, { ...(a as Artifact), name: "n" }) }],
  ["another extension", { artifacts: base.artifacts.with(0, { ...(a as Artifact), extensions: ["urn:x"] }) }],
  [
    "a file that has grown",
    { artifacts: base.artifacts.with(1, { ...(b as Artifact), parts: [text("two!", { filename: "f" })] }) },
  ],
  [
    "lost metadata of an artifact",
    { artifacts: base.artifacts.with(0, create(ArtifactSchema, { artifactId: "a", parts: [text("one")] })) },
  ],
  [
    "new metadata of an artifact alone",
    { artifacts: base.artifacts.with(0, { ...(a as Artifact), metadata: { k: 2 } }) },
  ],
  ["lost metadata", { metadata: {} }],
  ["something said in between", { history: [message("between")] }],
];

function message(messageId: string): Task["history"][number] {
  const event = statusEvent(TaskState.WORKING, messageId);
  if (event.payload.case !== "statusUpdate" || event.payload.value.status?.message === undefined) throw new Error("no");
  return event.payload.value.status.message;
}

it.each(replaced)("the difference cannot express %s", (_, now) => {
  expect(findDifference(base, { ...copyTask(base), ...now })).toBeUndefined();
});

// A change of each field. A task stays in its context.
const changes: Readonly<Record<string, Partial<Task>>> = {
  id: { id: "u" },
  status: { status: { $typeName: "lf.a2a.v1.TaskStatus", state: TaskState.COMPLETED } },
  artifacts: { artifacts: [...base.artifacts, artifactOf("new", "x")] },
  history: { history: [message("between")] },
  metadata: { metadata: { k: 2 } },
};

it("the difference notices a change of every field of a task but its context", () => {
  const fields = TaskSchema.fields.map(({ localName }) => localName);
  expect(new Set([...Object.keys(changes), "contextId"])).toEqual(new Set(fields));
  for (const change of Object.values(changes)) {
    expect(findDifference(base, { ...copyTask(base), ...change })).not.toEqual([]);
    expect(isSameContent(base, { ...copyTask(base), ...change })).toBe(false);
  }
});

it("the difference compares artifacts by their ids, wherever they are in the list", () => {
  const knownTask = foldAll(fresh, [
    artifactEvent({ parts: [text("one ")] }),
    artifactEvent({ artifactId: "b", parts: [text("b")] }),
  ]);
  const grown = foldAll(knownTask, [artifactEvent({ parts: [text("two")], append: true })]);
  const now: Task = { ...grown, artifacts: [artifactOf("c", "c"), ...grown.artifacts.toReversed()] };
  const events = findDifference(knownTask, now) ?? [];
  expect(events.map(({ payload }) => payload.value)).toMatchObject([
    { append: false, artifact: { artifactId: "c" } },
    { append: true, artifact: { artifactId: "a", parts: [{ content: { value: "two" } }] } },
  ]);
  expect(events).toHaveLength(2);
});

it("the difference joins the chunks of an agent that keeps each as an artifact of the same id", () => {
  const chunks = ["one ", "two ", "three"].map((value) => artifactOf("a", value));
  const knownTask = foldAll(fresh, [artifactEvent({ parts: [text("one ")] })]);
  const now: Task = { ...fresh, artifacts: chunks };
  expect(findDifference(knownTask, now)?.map(({ payload }) => payload.value)).toMatchObject([
    { append: true, artifact: { artifactId: "a", parts: [{ content: { value: "two three" } }] } },
  ]);
  expect(findDifference({ ...fresh, artifacts: chunks.slice(0, 2) }, now)).toHaveLength(1);
  expect(findDifference(now, now)).toEqual([]);
});

it("the difference keeps artifacts without an id apart, and compares them by their place", () => {
  const knownTask: Task = { ...fresh, artifacts: [artifactOf("", "one"), artifactOf("", "two")] };
  expect(findDifference(knownTask, knownTask)).toEqual([]);
  const now: Task = { ...fresh, artifacts: [artifactOf("", "one"), artifactOf("", "two more")] };
  expect(findDifference(knownTask, now)).toHaveLength(1);
});

function artifactOf(artifactId: string, value: string): Artifact {
  return create(ArtifactSchema, { artifactId, parts: [text(value)] });
}

it("the difference treats a task as unchanged if only its status time or the id of its status message differs", () => {
  const knownTask = foldAll(fresh, [statusEvent(TaskState.COMPLETED, "done")]);
  const now = copyTask(knownTask);
  const status = { ...knownTask.status, timestamp: create(TimestampSchema, { seconds: 7n }) };
  const otherMessage = { ...message("done"), contextId: "c", messageId: "another" };
  expect(isSameContent(knownTask, { ...now, status: { ...status, message: otherMessage } } as Task)).toBe(true);
  expect(isSameContent(knownTask, { ...now, status: { ...status, message: message("more") } } as Task)).toBe(false);
  expect(isSameContent(knownTask, { ...now, artifacts: [artifactOf("a", "x")] })).toBe(false);
  expect(isSameContent(knownTask, foldAll(knownTask, [statusEvent(TaskState.FAILED, "done")]))).toBe(false);
});
