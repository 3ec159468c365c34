import { create, equals } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogRecord, RecordedError, SendContext } from "../../../src/core/ports.js";
import { errorCodes } from "../../../src/protocol/errors.js";
import {
  MessageSchema,
  PartSchema,
  SendMessageConfigurationSchema,
  StreamResponseSchema,
  TaskPushNotificationConfigSchema,
  TaskSchema,
} from "../../../src/protocol/model.js";
import {
  batchFromRow,
  inboxFromRow,
  inboxToRow,
  logToRow,
  outcomeFromRow,
  outcomeToRow,
  pushFromRow,
  pushToRow,
  snapshotFromRow,
  snapshotToRow,
} from "../../../src/store/sql/payload.js";
import { arbitraryJson, arbitraryMessage, arbitraryText } from "../../support/arbitrary-message.js";

// Binary protobuf cannot represent these, so they come back changed: -0 becomes 0, and lone surrogates are replaced.
const text = arbitraryText.map((any) => any.toWellFormed());
const json = arbitraryJson.map((any) => JSON.parse(JSON.stringify(any).toWellFormed()));
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const natural = fc.nat(2 ** 31);

const error: fc.Arbitrary<RecordedError> = fc.record({
  code: fc.constantFrom(...errorCodes),
  message: text,
  violations: fc.array(fc.record({ field: text, description: text }), { maxLength: 2 }),
  reason: maybe(text.filter((reason) => reason !== "")),
  domain: maybe(text.filter((domain) => domain !== "")),
  metadata: fc.dictionary(
    text.filter((key) => key !== "__proto__"),
    text,
    { maxKeys: 2, noNullPrototype: true },
  ),
  retryAfterMs: maybe(fc.nat()),
});

const context: fc.Arbitrary<SendContext> = fc.record({
  configuration: maybe(arbitraryMessage(SendMessageConfigurationSchema)),
  metadata: maybe(fc.dictionary(fc.constantFrom("a", "é", ""), json, { maxKeys: 2, noNullPrototype: true })),
  extensions: fc.array(text, { maxLength: 2 }),
});

const message = arbitraryMessage(MessageSchema);
const event = arbitraryMessage(StreamResponseSchema);

const record: fc.Arbitrary<LogRecord> = fc.oneof(
  fc.record({ kind: fc.constant("event" as const), seq: fc.constant(0), event }),
  fc.record({ kind: fc.constant("message" as const), seq: fc.constant(0), message, entry: text }),
  fc.record({ kind: fc.constant("message" as const), seq: fc.constant(0), message, entry: text, context }),
  fc
    .record({ turn: natural, attempt: natural, cause: fc.constantFrom("message", "wake", "restart") })
    .map((members) => ({ kind: "turnStarted", seq: 0, ...members }) as const),
  fc.record({
    kind: fc.constant("turnStarted" as const),
    seq: fc.constant(0),
    turn: natural,
    attempt: natural,
    cause: fc.constant("wake" as const),
    wake: json,
  }),
  fc.constant({ kind: "turnEnded", seq: 0 } as const),
  fc.record({ kind: fc.constant("turnEnded" as const), seq: fc.constant(0), error }),
);

describe("what a store keeps in its rows", () => {
  it("a store restores each record of a log from its rows with its number", () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 4 }), natural, (drawn, after) => {
        const records = drawn.map((each, index) => ({ ...each, seq: after + index + 1 }));
        const row = logToRow(records);
        expect(row).toMatchObject({ seq: after + records.length, count: records.length, format: 1 });
        if (row === undefined) return;
        const readBack = batchFromRow(row).records;
        // Writing it again gives the same bytes: nothing was lost or added.
        expect(logToRow(readBack)).toEqual(row);
        expect(readBack).toEqual(records);
      }),
    );
  });

  it("a store restores tasks from rows, with plain bytes even when the driver returns buffers", () => {
    fc.assert(
      fc.property(arbitraryMessage(TaskSchema), (task) => {
        const row = snapshotToRow(7, task);
        const { seq, task: read } = snapshotFromRow({ ...row, bytes: Buffer.from(row.bytes) });
        expect(seq).toBe(7);
        expect(snapshotToRow(7, read)).toEqual(row);
        expect(equals(TaskSchema, read, task)).toBe(true);
      }),
    );
    const raw = create(PartSchema, { content: { case: "raw", value: new Uint8Array([1, 2]) } });
    const task = create(TaskSchema, { id: "t", artifacts: [{ artifactId: "a", parts: [raw] }] });
    const row = snapshotToRow(1, task);
    const result = snapshotFromRow({ ...row, bytes: Buffer.from(row.bytes) });
    expect(equals(TaskSchema, result.task, task)).toBe(true);
    expect(result.task.artifacts[0]?.parts[0]?.content.value?.constructor).toBe(Uint8Array);
  });

  it("a store restores the entries of an inbox from its rows", () => {
    fc.assert(
      fc.property(message, context, json, (body, beside, wake) => {
        const entry = { id: "m", kind: "message", send: { message: body, ...beside } } as const;
        expect(inboxFromRow(inboxToRow(entry))).toEqual(entry);
        expect(inboxFromRow(inboxToRow({ id: "w", kind: "wake", wake }))).toEqual({ id: "w", kind: "wake", wake });
        const cancel = { id: "c", kind: "cancel" } as const;
        expect(inboxFromRow(inboxToRow(cancel))).toEqual(cancel);
      }),
    );
  });

  it("a store restores the outcome of a send from its row", () => {
    fc.assert(
      fc.property(message, error, (reply, failure) => {
        expect(outcomeFromRow(outcomeToRow({ kind: "task" }))).toEqual({ kind: "task" });
        expect(outcomeFromRow(outcomeToRow({ kind: "error", error: failure }))).toEqual({
          kind: "error",
          error: failure,
        });
        const row = outcomeToRow({ kind: "reply", message: reply });
        expect(outcomeFromRow(row)).toEqual({ kind: "reply", message: reply });
      }),
    );
  });

  it("a store restores push configurations from their rows with their credentials", () => {
    const config = arbitraryMessage(TaskPushNotificationConfigSchema);
    fc.assert(
      fc.property(config, natural, maybe(text), (config, cursor, taskName) => {
        const scope = { agent: "", tenant: "", owner: "alice" };
        const row = pushToRow({ key: 3, taskId: "t", scope, config, cursor, version: "x", taskName, holder: "" });
        expect(row.id).toBe(config.id);
        const result = pushFromRow(row);
        expect(result).toMatchObject({ key: 3, taskId: "t", scope, cursor, version: "x", holder: "" });
        expect(result.taskName).toBe(taskName);
        expect(equals(TaskPushNotificationConfigSchema, result.config, config)).toBe(true);
      }),
    );
  });

  it("a store reports that a row of an unknown format was written by a newer release", () => {
    const row = logToRow([{ kind: "turnEnded", seq: 1 }]);
    expect(row).toBeDefined();
    if (row === undefined) return;
    expect(() => batchFromRow({ ...row, format: 2 })).toThrow(
      "a row (log) was written by a newer release of trivium in format 2, this one knows 1",
    );
    expect(() => batchFromRow({ ...row, bytes: new Uint8Array([10, 0]) })).toThrow(/newer release/);
  });

  it("a store reports that a truncated row is damaged", () => {
    const row = logToRow([{ kind: "event", seq: 1, event: create(StreamResponseSchema, {}) }]);
    expect(row).toBeDefined();
    if (row === undefined) return;
    const damaged = { failure: "damaged" };
    expect(() => batchFromRow({ ...row, bytes: row.bytes.slice(0, -1) })).toThrow(expect.objectContaining(damaged));
    expect(() => batchFromRow({ ...row, count: 2 })).toThrow(expect.objectContaining(damaged));
  });

  it("a store refuses what cannot be written with a permanent error", () => {
    const broken = { ...create(StreamResponseSchema, {}), payload: { case: "task" as const, value: 7 as never } };
    expect(() => logToRow([{ kind: "event", seq: 1, event: broken }])).toThrow(
      expect.objectContaining({ code: "internalError", message: "a LogBatch cannot be stored" }),
    );
  });
});
