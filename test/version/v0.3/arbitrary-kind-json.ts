import fc from "fast-check";

// Random kind-JSON by the schema of 0.3: all required members and any optional ones.

const word = fc.string({ unit: "binary", minLength: 1, maxLength: 8 });
const words = fc.array(word, { minLength: 1, maxLength: 2 });
const free = fc.dictionary(
  word.filter((key) => key !== "__proto__"),
  fc.oneof(word, fc.integer(), fc.constant(null), fc.boolean(), fc.constant([1, { deep: "x" }])),
  { maxKeys: 2, noNullPrototype: true },
);
const time = fc
  .date({ min: new Date("1970-01-01"), max: new Date("2100-01-01"), noInvalidDate: true })
  .map((date) => date.toISOString());

const requiring = <T>(members: { [K in keyof T]: fc.Arbitrary<T[K]> }, requiredKeys: (keyof T)[]) =>
  fc.record(members, { requiredKeys, noNullPrototype: true });

const base64 = fc.uint8Array({ maxLength: 7 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const fileWithBytes = requiring({ bytes: base64, mimeType: word, name: word }, ["bytes"]);
const fileWithUri = requiring({ uri: word, mimeType: word, name: word }, ["uri"]);

const part = fc.oneof(
  requiring({ kind: fc.constant("text"), text: fc.string({ unit: "binary" }), metadata: free }, ["kind", "text"]),
  requiring({ kind: fc.constant("file"), file: fc.oneof(fileWithBytes, fileWithUri), metadata: free }, [
    "kind",
    "file",
  ]),
  requiring({ kind: fc.constant("data"), data: free, metadata: free }, ["kind", "data"]),
);
const parts = fc.array(part, { minLength: 1, maxLength: 2 });

export const arbitraryKindMessage = (role: "user" | "agent") =>
  requiring(
    {
      kind: fc.constant("message"),
      messageId: word,
      role: fc.constant(role),
      parts,
      taskId: word,
      contextId: word,
      referenceTaskIds: words,
      extensions: words,
      metadata: free,
    },
    ["kind", "messageId", "role", "parts"],
  );

const anyMessage = fc.oneof(arbitraryKindMessage("user"), arbitraryKindMessage("agent"));

const states = [
  "submitted",
  "working",
  "input-required",
  "completed",
  "canceled",
  "failed",
  "rejected",
  "auth-required",
  "unknown",
];
const status = requiring({ state: fc.constantFrom(...states), message: anyMessage, timestamp: time }, ["state"]);

const artifact = requiring(
  { artifactId: word, parts, name: word, description: word, extensions: words, metadata: free },
  ["artifactId", "parts"],
);

export const arbitraryKindTask = requiring(
  {
    kind: fc.constant("task"),
    id: word,
    contextId: word,
    status,
    history: fc.array(anyMessage, { minLength: 1, maxLength: 2 }),
    artifacts: fc.array(artifact, { minLength: 1, maxLength: 2 }),
    metadata: free,
  },
  ["kind", "id", "contextId", "status"],
);

const statusUpdate = requiring(
  {
    kind: fc.constant("status-update"),
    taskId: word,
    contextId: word,
    status,
    final: fc.boolean(),
    metadata: free,
  },
  ["kind", "taskId", "contextId", "status", "final"],
);

const artifactUpdate = requiring(
  {
    kind: fc.constant("artifact-update"),
    taskId: word,
    contextId: word,
    artifact,
    append: fc.boolean(),
    lastChunk: fc.boolean(),
    metadata: free,
  },
  ["kind", "taskId", "contextId", "artifact", "append", "lastChunk"],
);

/** Any of the four kinds of stream events. */
export const arbitraryKindEvent = fc
  .oneof(arbitraryKindTask, arbitraryKindMessage("agent"), statusUpdate, artifactUpdate)
  .map((event): { readonly [member: string]: never } & { readonly final?: never } => event as never);
