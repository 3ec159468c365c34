import { sizeOfEvent, sizeOfJson, sizeOfMessage } from "../../protocol/check/size.js";
import type { TraceContext } from "../../protocol/telemetry/trace.js";
import type { SendContext } from "../ports.js";
import type { Draft } from "./draft.js";

/** Overhead of a record beyond its content. */
const recordBytes = 64;
/** Size of a send's configuration. */
const configurationBytes = 64;

/** Approximate stored size of a log record in bytes. */
export function sizeOfRecord(record: Draft): number {
  switch (record.kind) {
    case "event":
      return recordBytes + sizeOfEvent(record.event);
    case "message":
      return recordBytes + sizeOfMessage(record.message) + sizeOfContext(record.context);
    case "turnStarted":
      return recordBytes + sizeOfJson(record.wake) + sizeOfTrace(record.trace);
    case "turnEnded":
      return record.error === undefined ? recordBytes : recordBytes + JSON.stringify(record.error).length;
    default:
      return recordBytes;
  }
}

function sizeOfContext(context: SendContext | undefined): number {
  if (context === undefined) return 0;
  const { metadata, extensions, principal, trace } = context;
  const contentBytes = sizeOfJson(metadata) + sizeOfJson([...extensions]) + sizeOfJson(principal);
  return contentBytes + configurationBytes + sizeOfTrace(trace);
}

function sizeOfTrace(trace: TraceContext | undefined): number {
  return trace === undefined ? 0 : trace.traceparent.length + (trace.tracestate?.length ?? 0);
}
