import type { JsonValue } from "@bufbuild/protobuf";
import { type Message, Role } from "../../protocol/model.js";
import type { LogRecord, QueuedSend, SendContext, StoredTask } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { foldStored } from "../task/fold.js";

/** What the last turn of a task was started with, as far as its log shows. */
export interface TurnOrigin {
  readonly attempt: number;
  readonly wake: JsonValue | undefined;
  /** Number of the record that holds its message. */
  readonly messageSeq: number;
  /** Id of the send that brought the message. */
  readonly entry: string;
  readonly send: QueuedSend;
}

/** Whether the process that ran the last turn of a task has left it to others by its own will. */
export async function isReleased(runtime: Runtime, stored: StoredTask): Promise<boolean> {
  const [last] = await recordsFrom(runtime, stored, stored.head.seq);
  return last?.kind === "turnReleased";
}

/** Reads how the last turn of a task began: at its head's `turnSeq` stands the start, and that says where its message is. */
export async function readOrigin(runtime: Runtime, stored: StoredTask): Promise<TurnOrigin> {
  const { turnSeq } = stored.head;
  const [started, next] = await recordsFrom(runtime, stored, turnSeq);
  const { attempt = 1, wake, message = turnSeq + 1 } = started?.kind === "turnStarted" ? started : {};
  const [said] = message === turnSeq + 1 ? [next] : await recordsFrom(runtime, stored, message);
  if (said?.kind !== "message") {
    return { attempt, wake, messageSeq: message, entry: "", send: { message: lastSaid(stored), ...nothingElse } };
  }
  const { entry, context = nothingElse } = said;
  return { attempt, wake, messageSeq: message, entry, send: { message: said.message, ...context } };
}

const nothingElse: SendContext = { configuration: undefined, metadata: undefined, extensions: [] };

// The record with this number and the one behind it, from what was read already or from the store.
async function recordsFrom(
  { store }: Runtime,
  { head, records }: StoredTask,
  seq: number,
): Promise<readonly LogRecord[]> {
  const first = records[0]?.seq;
  if (first !== undefined && seq >= first) return records.slice(seq - first, seq - first + 2);
  const page = seq === 0 ? undefined : await store.recordsAfter(head.key, seq - 1, 2);
  return typeof page === "object" ? page.records : [];
}

// A log that does not say it any more: the history has the caller's last message.
function lastSaid(stored: StoredTask): Message {
  return foldStored(stored).history.findLast(({ role }) => role === Role.USER) ?? silence;
}

const silence: Message = {
  $typeName: "lf.a2a.v1.Message",
  messageId: "",
  contextId: "",
  taskId: "",
  role: Role.USER,
  parts: [],
  extensions: [],
  referenceTaskIds: [],
};
