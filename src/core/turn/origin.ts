import type { JsonValue } from "@bufbuild/protobuf";
import { type Message, Role, typeNames } from "../../protocol/model.js";
import type { TraceContext } from "../../protocol/telemetry/trace.js";
import type { LogRecord, QueuedSend, SendContext, StoredTask } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { foldStored } from "../task/fold.js";

// How the last turn of a task began and what it has done, read from the log when another turn follows it or runs it again.

/** The start of a task's last turn, as far as its log shows it. */
export interface TurnOrigin {
  readonly attempt: number;
  readonly wake: JsonValue | undefined;
  /** The place in its trace of the wake that started the turn, if one did. */
  readonly trace: TraceContext | undefined;
  /** Number of the record with its message. */
  readonly messageSeq: number;
  /** Id of the send that delivered the message. */
  readonly entry: string;
  readonly send: QueuedSend;
}

/** Whether the process of the last turn released it deliberately. */
export async function isReleased(runtime: Runtime, storedTask: StoredTask): Promise<boolean> {
  return (await readRecord(runtime, storedTask, storedTask.head.seq))?.kind === "turnReleased";
}

/** The records with which a turn starts, at most. */
const startRecords = 4;

/**
 * Whether the last turn has emitted an event. The first one makes a task WORKING again: before it, a state in which the
 * task waits for its caller is that of an earlier turn.
 */
export async function hasEmitted({ store }: Runtime, { head }: StoredTask): Promise<boolean> {
  const page = await store.recordsAfter(head.key, head.turnSeq, startRecords);
  return page === "compacted" || page?.records.some(({ kind }) => kind === "event") === true;
}

/**
 * Reads how the last turn of a task began: the record at the head's `turnSeq` is its start and points to its message.
 */
export async function readOrigin(runtime: Runtime, storedTask: StoredTask): Promise<TurnOrigin> {
  const { turnSeq } = storedTask.head;
  const start = await readRecord(runtime, storedTask, turnSeq);
  const { attempt = 1, wake, trace, message = turnSeq + 1 } = start?.kind === "turnStarted" ? start : {};
  const messageRecord = await readRecord(runtime, storedTask, message);
  if (messageRecord?.kind !== "message") {
    return {
      attempt,
      wake,
      trace,
      messageSeq: message,
      entry: "",
      send: { message: findLastMessage(storedTask), ...emptyContext },
    };
  }
  const { entry, context = emptyContext } = messageRecord;
  return { attempt, wake, trace, messageSeq: message, entry, send: { message: messageRecord.message, ...context } };
}

/** The trace context that caused the last turn of a task. `undefined` without telemetry. */
export async function readLastCause(runtime: Runtime, storedTask: StoredTask): Promise<TraceContext | undefined> {
  return runtime.telemetry === undefined ? undefined : readCause(await readOrigin(runtime, storedTask));
}

/** The trace context that caused a turn. */
export function readCause({ trace, send }: TurnOrigin): TraceContext | undefined {
  return trace ?? send.trace;
}

const emptyContext: SendContext = { configuration: undefined, metadata: undefined, extensions: [] };

// From what was already read, or from the store.
async function readRecord(
  { store }: Runtime,
  { head, records }: StoredTask,
  seq: number,
): Promise<LogRecord | undefined> {
  const first = records[0]?.seq;
  if (first !== undefined && seq >= first) return records[seq - first];
  return seq === 0 ? undefined : (await store.recordsAt(head.key, [seq])).at(0);
}

// If the log no longer has it, the history has the caller's last message.
function findLastMessage(storedTask: StoredTask): Message {
  return foldStored(storedTask).history.findLast(({ role }) => role === Role.USER) ?? missingMessage;
}

const missingMessage: Message = {
  $typeName: typeNames.Message,
  messageId: "",
  contextId: "",
  taskId: "",
  role: Role.USER,
  parts: [],
  extensions: [],
  referenceTaskIds: [],
};
