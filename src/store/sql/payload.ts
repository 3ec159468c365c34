import { type DescMessage, fromBinary, fromJson, type MessageShape, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  InboxPayloadSchema,
  LogBatchSchema,
  SentOutcomeSchema,
  type CallerMessage as StoredCallerMessage,
  TurnCause as StoredCause,
  type SendContext as StoredContext,
  type RecordedError as StoredError,
  type LogRecord as StoredRecord,
  type TraceContext as StoredTrace,
} from "../../../gen/trivium/store/v1/store_pb.js";
import type {
  ConversationRecord,
  ConversationWrite,
  Head,
  InboxEntry,
  LogRecord,
  PushRegistration,
  RecordedError,
  SendContext,
  SentOutcome,
  StoredConversationRecord,
  StoredTask,
  TurnCause,
  WrittenStatus,
} from "../../core/ports.js";
import { sizeOfTask } from "../../protocol/check/size.js";
import { writeBinary } from "../../protocol/codec/binary/writer.js";
import { A2AError, type ErrorCode, errorTable } from "../../protocol/errors.js";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  MessageSchema,
  type Task,
  TaskPushNotificationConfigSchema,
  TaskSchema,
} from "../../protocol/model.js";
import type { TraceContext } from "../../protocol/telemetry/trace.js";
import {
  type ConversationWriteRow,
  type InboxRow,
  type LogRow,
  type Payload,
  type PushRow,
  type SendOutcomeRow,
  type SnapshotRow,
  type StatusRow,
  type StoredConversationRow,
  settledHolder,
} from "./rows.js";
import { StoreError } from "./store-error.js";

/** The current payload format. */
const currentFormat = 1;

/** The records of one write; `undefined` if there are none. */
export function logToRow(records: readonly LogRecord[]): LogRow | undefined {
  const last = records.at(-1);
  if (last === undefined) return undefined;
  const batch = { $typeName: LogBatchSchema.typeName, records: records.map(recordToStored), hasFirstChunks: true };
  return { seq: last.seq, count: records.length, ...encode(LogBatchSchema, batch) };
}

/** The records of one write. */
export interface LogBatch {
  readonly records: readonly LogRecord[];
  /** Whether the first chunk of each artifact has `append: false`. */
  readonly hasFirstChunks: boolean;
}

export function batchFromRow(row: LogRow): LogBatch {
  const { records, hasFirstChunks } = decode(LogBatchSchema, row, "log");
  if (records.length !== row.count) {
    throw new StoreError("damaged", `a row of the log says ${row.count} records and holds ${records.length}`);
  }
  return {
    records: records.map((record, index) => recordFromStored(record, row.seq - row.count + 1 + index)),
    hasFirstChunks,
  };
}

export function snapshotToRow(seq: number, task: Task): SnapshotRow {
  return { seq, ...encode(TaskSchema, task) };
}

export function snapshotFromRow(row: SnapshotRow): { readonly seq: number; readonly task: Task } {
  return { seq: row.seq, task: decode(TaskSchema, row, "snapshot") };
}

export function statusToRow({ state, time, summary }: WrittenStatus): StatusRow {
  return { state, time, summary: summary === undefined ? undefined : summaryToRow(summary) };
}

/** Heads are copied with every write, so they keep small summaries only: up to this many bytes. */
const summaryMaxBytes = 1_024;

function summaryToRow(summary: Task): Uint8Array | undefined {
  // In memory a value takes several times its encoded size: what is much larger is not encoded.
  if (sizeOfTask(summary) > 8 * summaryMaxBytes) return undefined;
  // The head has the ids.
  const { bytes } = encode(TaskSchema, { ...summary, id: "", contextId: "" });
  return bytes.length <= summaryMaxBytes ? bytes : undefined;
}

/** A summary as the snapshot at its head. */
export function summaryFromRow({ id, contextId, seq }: Head, bytes: Uint8Array): StoredTask["snapshot"] {
  const task = decode(TaskSchema, { format: currentFormat, bytes }, "summary");
  return { seq, task: { ...task, id, contextId } };
}

export function inboxToRow({ id, kind, send, wake }: InboxEntry): InboxRow {
  const payload = {
    $typeName: InboxPayloadSchema.typeName,
    message: send?.message,
    context: send === undefined ? undefined : contextToStored(send),
    wake: wake === undefined ? undefined : fromJson(ValueSchema, wake),
  };
  return { id, kind, ...encode(InboxPayloadSchema, payload) };
}

export function inboxFromRow(row: InboxRow): InboxEntry {
  const { id, kind } = row;
  const { message, context, wake } = decode(InboxPayloadSchema, row, "inbox");
  const wakePart = wake === undefined ? {} : { wake: toJson(ValueSchema, wake) };
  return message === undefined
    ? { id, kind, ...wakePart }
    : { id, kind, send: { message, ...contextFromStored(context) }, ...wakePart };
}

export function outcomeToRow(outcome: SentOutcome): SendOutcomeRow {
  const { kind } = outcome;
  const $typeName = SentOutcomeSchema.typeName;
  switch (kind) {
    case "task":
      return { kind, format: currentFormat, bytes: new Uint8Array(0) };
    case "reply":
      return { kind, ...encode(SentOutcomeSchema, { $typeName, kind: { case: kind, value: outcome.message } }) };
    case "error": {
      const value = errorToStored(outcome.error);
      return { kind, ...encode(SentOutcomeSchema, { $typeName, kind: { case: kind, value } }) };
    }
    default:
      return kind satisfies never;
  }
}

export function outcomeFromRow(row: SendOutcomeRow): SentOutcome {
  if (row.kind === "task") return { kind: "task" };
  const { kind } = decode(SentOutcomeSchema, row, "send");
  if (kind.case === "reply") return { kind: "reply", message: kind.value };
  if (kind.case === "error") return { kind: "error", error: errorFromStored(kind.value) };
  throw newerRow("send");
}

const conversationKinds = ["user", "agent", "artifact"] as const satisfies readonly ConversationRecord["kind"][];

export function conversationToRow({ entries, ...write }: ConversationWrite): ConversationWriteRow {
  return {
    ...write,
    entries: entries.map(({ kind, content, ...entry }) => ({
      ...entry,
      kind: conversationKinds.indexOf(kind),
      payload: content === undefined ? undefined : contentToRow(content),
    })),
  };
}

// The row has the ids of the task and the context.
function contentToRow(content: Message | Artifact): Payload {
  if (content.$typeName === ArtifactSchema.typeName) return encode(ArtifactSchema, content);
  return encode(MessageSchema, { ...content, taskId: "", contextId: "" });
}

export function conversationFromRow(
  { kind: number, payload, ...entry }: StoredConversationRow,
  contextId: string,
): StoredConversationRecord {
  const kind = conversationKinds[number];
  if (kind === undefined) throw newerRow("conversation");
  if (payload === undefined) return { ...entry, kind, content: undefined };
  if (kind === "artifact") return { ...entry, kind, content: decode(ArtifactSchema, payload, "conversation") };
  const message = decode(MessageSchema, payload, "conversation");
  return { ...entry, kind, content: { ...message, taskId: entry.taskId, contextId } };
}

export function pushToRow({ config, taskName, settled, ...registration }: PushRegistration): PushRow {
  const holder = settled === true ? settledHolder : registration.holder;
  return { ...registration, holder, id: config.id, taskName, ...encode(TaskPushNotificationConfigSchema, config) };
}

export function pushFromRow(row: PushRow): PushRegistration {
  const { key, taskId, scope, cursor, version, taskName, holder } = row;
  const config = decode(TaskPushNotificationConfigSchema, row, "push configuration");
  const namePart = taskName === undefined ? {} : { taskName };
  const registration = { key, taskId, scope, config, cursor, version, ...namePart };
  return holder === settledHolder ? { ...registration, holder: "", settled: true } : { ...registration, holder };
}

function recordToStored(record: LogRecord): StoredRecord {
  return { $typeName: "trivium.store.v1.LogRecord", kind: kindToStored(record) };
}

function kindToStored(record: LogRecord): StoredRecord["kind"] {
  switch (record.kind) {
    case "event":
      return { case: "event", value: record.event };
    case "message": {
      const { message, entry, context } = record;
      const storedContext = context === undefined ? undefined : contextToStored(context);
      const value = { $typeName: "trivium.store.v1.CallerMessage" as const, message, entry, context: storedContext };
      return { case: "message", value };
    }
    case "turnStarted": {
      const { turn, attempt, wake, message } = record;
      const wakeValue = wake === undefined ? undefined : fromJson(ValueSchema, wake);
      const trace = traceToStored(record.trace);
      const members = { turn, attempt, cause: storedCauses[record.cause], wake: wakeValue, trace };
      const messagePart = message === undefined ? {} : { message: BigInt(message) };
      return { case: "turnStarted", value: { $typeName: "trivium.store.v1.TurnStarted", ...members, ...messagePart } };
    }
    case "turnEnded": {
      const error = record.error === undefined ? undefined : errorToStored(record.error);
      return { case: "turnEnded", value: { $typeName: "trivium.store.v1.TurnEnded", error } };
    }
    case "turnReleased":
      return { case: "turnReleased", value: { $typeName: "trivium.store.v1.TurnReleased" } };
    case "turnParked":
      return { case: "turnParked", value: { $typeName: "trivium.store.v1.TurnParked" } };
    default:
      return record satisfies never;
  }
}

function recordFromStored({ kind }: StoredRecord, seq: number): LogRecord {
  switch (kind.case) {
    case "event":
      return { kind: "event", seq, event: kind.value };
    case "message":
      return callerMessageFromStored(kind.value, seq);
    case "turnStarted": {
      const { turn, attempt, cause, wake, message, trace } = kind.value;
      const wakePart = wake === undefined ? {} : { wake: toJson(ValueSchema, wake) };
      const otherParts = { ...(message === undefined ? {} : { message: Number(message) }), ...traceFromStored(trace) };
      return { kind: "turnStarted", seq, turn, attempt, cause: causeFromStored(cause), ...wakePart, ...otherParts };
    }
    case "turnEnded": {
      const { error } = kind.value;
      return error === undefined
        ? { kind: "turnEnded", seq }
        : { kind: "turnEnded", seq, error: errorFromStored(error) };
    }
    case "turnReleased":
      return { kind: "turnReleased", seq };
    case "turnParked":
      return { kind: "turnParked", seq };
    default:
      throw newerRow("log");
  }
}

function callerMessageFromStored({ message, entry, context }: StoredCallerMessage, seq: number): LogRecord {
  if (message === undefined) throw new StoreError("damaged", `record ${seq} of a log has lost its message`);
  const contextPart = context === undefined ? {} : { context: contextFromStored(context) };
  return { kind: "message", seq, message, entry, ...contextPart };
}

const storedCauses: Readonly<Record<TurnCause, StoredCause>> = {
  message: StoredCause.MESSAGE,
  wake: StoredCause.WAKE,
  restart: StoredCause.RESTART,
};

function causeFromStored(cause: StoredCause): TurnCause {
  switch (cause) {
    case StoredCause.MESSAGE:
      return "message";
    case StoredCause.WAKE:
      return "wake";
    case StoredCause.RESTART:
      return "restart";
    default:
      throw newerRow("log");
  }
}

function contextToStored({ configuration, metadata, extensions, principal, trace }: SendContext): StoredContext {
  const members = { configuration, metadata, extensions: [...extensions], principal, trace: traceToStored(trace) };
  return { $typeName: "trivium.store.v1.SendContext", ...members };
}

function contextFromStored(context: StoredContext | undefined): SendContext {
  const { configuration, metadata, extensions = [], principal, trace } = context ?? {};
  return { configuration, metadata, extensions, principal, ...traceFromStored(trace) };
}

function traceToStored(trace: TraceContext | undefined): StoredTrace | undefined {
  if (trace === undefined) return undefined;
  const { traceparent, tracestate } = trace;
  return { $typeName: "trivium.store.v1.TraceContext", traceparent, ...(tracestate !== undefined && { tracestate }) };
}

function traceFromStored(trace: StoredTrace | undefined): { readonly trace?: TraceContext } {
  if (trace === undefined) return {};
  const { traceparent, tracestate } = trace;
  return { trace: { traceparent, ...(tracestate !== undefined && { tracestate }) } };
}

function errorToStored(error: RecordedError): StoredError {
  const { code, message, violations, reason = "", domain = "", metadata, retryAfterMs } = error;
  return {
    $typeName: "trivium.store.v1.RecordedError",
    code,
    message,
    violations: violations.map((violation) => ({ $typeName: "trivium.store.v1.FieldViolation", ...violation })),
    reason,
    domain,
    metadata: { ...metadata },
    retryAfterMs: retryAfterMs === undefined ? undefined : BigInt(Math.ceil(Math.max(retryAfterMs, 0))),
  };
}

function errorFromStored(error: StoredError): RecordedError {
  const { code, message, violations, reason, domain, metadata, retryAfterMs } = error;
  return {
    code: isErrorCode(code) ? code : "internalError",
    message,
    violations: violations.map(({ field, description }) => ({ field, description })),
    ...(reason === "" ? {} : { reason }),
    ...(domain === "" ? {} : { domain }),
    metadata,
    retryAfterMs: retryAfterMs === undefined ? undefined : Number(retryAfterMs),
  };
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}

/** Content that cannot be encoded never can be, so a retry does not help and this is not a database failure. */
function encode<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Payload {
  try {
    return { format: currentFormat, bytes: writeBinary(schema, message) };
  } catch (cause) {
    throw new A2AError("internalError", `a ${schema.name} cannot be stored`, { cause });
  }
}

function decode<Desc extends DescMessage>(
  schema: Desc,
  { format, bytes }: Payload,
  subject: string,
): MessageShape<Desc> {
  if (format !== currentFormat) throw newerRow(subject, format);
  try {
    return fromBinary(schema, plainBytes(bytes));
  } catch (cause) {
    throw new StoreError("damaged", `a row (${subject}) cannot be read`, { cause });
  }
}

/**
 * Converts a `Buffer` to a plain `Uint8Array`: slices of a Buffer would be Buffers too, and they become parts of
 * messages.
 */
function plainBytes(bytes: Uint8Array): Uint8Array {
  const { buffer, byteOffset, byteLength } = bytes;
  return bytes.constructor === Uint8Array ? bytes : new Uint8Array(buffer, byteOffset, byteLength);
}

function newerRow(subject: string, format?: number): StoreError {
  const formats = format === undefined ? "" : ` in format ${format}, this one knows ${currentFormat}`;
  return new StoreError("newerFormat", `a row (${subject}) was written by a newer release of trivium${formats}`);
}
