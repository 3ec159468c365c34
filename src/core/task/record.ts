import { sizeOfEvent, sizeOfJson, sizeOfMessage } from "../../protocol/check/size.js";
import { A2AError, ownReason } from "../../protocol/errors.js";
import type { TaskState } from "../../protocol/model.js";
import type { TraceContext } from "../../protocol/telemetry/trace.js";
import type { LogRecord, QueuedSend, RecordedError, SendContext } from "../ports.js";

// The records of a task's log: how each is made, its size, and what it says.

/** A record without a number. */
export type Draft = WithoutSeq<LogRecord>;
type WithoutSeq<R> = R extends LogRecord ? Omit<R, "seq"> : never;

/** The draft record of a caller's message, with the ids of its task and the context of its send. */
export function messageDraft(
  live: { readonly id: string; readonly contextId: string },
  entry: string,
  send: QueuedSend,
): Draft {
  const message = { ...send.message, taskId: live.id, contextId: live.contextId };
  const { configuration, metadata, extensions, principal, trace } = withoutPush(send);
  const isPlain = [configuration, metadata, principal, trace].every((member) => member === undefined);
  if (isPlain && extensions.length === 0) return { kind: "message", entry, message };
  return { kind: "message", entry, message, context: { configuration, metadata, extensions, principal, trace } };
}

/** A send's context without its push configuration, which is stored elsewhere with its credentials. */
export function withoutPush<T extends SendContext>(send: T): T {
  if (send.configuration?.taskPushNotificationConfig === undefined) return send;
  const { taskPushNotificationConfig: _, ...configuration } = send.configuration;
  return { ...send, configuration };
}

/** An error in the form that a record stores. */
export function recordError(error: A2AError): RecordedError {
  const { code, message, violations, metadata, retryAfterMs } = error;
  return { code, message, violations, ...ownReason(error), metadata, retryAfterMs };
}

/** The error that was stored. */
export function restoreError({ code, message, ...rest }: RecordedError): A2AError {
  const { violations, reason, domain, metadata, retryAfterMs } = rest;
  return new A2AError(code, message, { violations, reason, domain, metadata, retryAfterMs });
}

/** The state that a record sets, if any. */
export function readState(record: LogRecord): TaskState | undefined {
  if (record.kind !== "event" || record.event.payload.case !== "statusUpdate") return undefined;
  return record.event.payload.value.status?.state;
}

/** Overhead of a record beyond its content. */
export const recordBytes = 64;
/** Size of a send's configuration. */
const configurationBytes = 64;

/** Approximate stored size of a log record in bytes. */
export function sizeOfRecord(record: Draft): number {
  switch (record.kind) {
    case "event":
      return recordBytes + sizeOfEvent(record.event);
    case "message":
      return recordBytes + sizeOfMessage(record.message) + measureContext(record.context);
    case "turnStarted":
      return recordBytes + sizeOfJson(record.wake) + measureTrace(record.trace);
    case "turnEnded":
      return record.error === undefined ? recordBytes : recordBytes + JSON.stringify(record.error).length;
    default:
      return recordBytes;
  }
}

/** Approximate stored size of records in bytes. */
export function sizeOfRecords(records: readonly Draft[]): number {
  let bytes = 0;
  for (const record of records) bytes += sizeOfRecord(record);
  return bytes;
}

function measureContext(context: SendContext | undefined): number {
  if (context === undefined) return 0;
  const { metadata, extensions, principal, trace } = context;
  const contentBytes = sizeOfJson(metadata) + sizeOfJson([...extensions]) + sizeOfJson(principal);
  return contentBytes + configurationBytes + measureTrace(trace);
}

function measureTrace(trace: TraceContext | undefined): number {
  return trace === undefined ? 0 : trace.traceparent.length + (trace.tracestate?.length ?? 0);
}
