import assert from "node:assert/strict";
import { create, toBinary } from "@bufbuild/protobuf";
import type {
  Append,
  Head,
  InboxEntry,
  LogRecord,
  NewTask,
  SendContext,
  StoredTask,
  TaskStore,
} from "../../core/ports.js";
import {
  MessageSchema,
  Role,
  SendMessageConfigurationSchema,
  type TaskState as State,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
} from "../../protocol/model.js";
import { v1 } from "../../version/v1.0/v1.js";

export const alice = { agent: "", tenant: "", owner: "alice" };
export const bob = { agent: "", tenant: "", owner: "bob" };
export const foreign = { agent: "", tenant: "elsewhere", owner: "alice" };
/** Alice in the scope of another agent. */
export const sibling = { agent: "sibling", tenant: "", owner: "alice" };

/** Returns an event record. Its text makes it unique. */
export function event(seq: number, text = `event ${seq}`): LogRecord {
  const artifact = { artifactId: "a", parts: [{ content: { case: "text" as const, value: text } }] };
  const payload = { case: "artifactUpdate" as const, value: { taskId: "t", contextId: "c", artifact, append: true } };
  return { kind: "event", seq, event: create(StreamResponseSchema, { payload }) };
}

export function events(after: number, count: number): LogRecord[] {
  return Array.from({ length: count }, (_, index) => event(after + index + 1));
}

export function message(messageId: string) {
  const parts = [{ content: { case: "text" as const, value: `said in ${messageId}` } }];
  return create(MessageSchema, { messageId, role: Role.USER, parts });
}

/** Returns the task that the log folds to at `seq`. */
export function taskAt(seq: number): Task {
  return create(TaskSchema, { id: "t", contextId: "c", artifacts: [{ artifactId: `up to ${seq}` }] });
}

let lastId = 0;

/** A SUBMITTED task of alice's with one record, held by `here`. */
export function newTask(changes: Partial<NewTask> = {}): NewTask {
  lastId += 1;
  const status = { state: TaskState.SUBMITTED, time: 1_000 };
  const birth = { id: `task-${lastId}`, contextId: "c", scope: alice, holder: "here", version: v1.name, status };
  return { ...birth, records: events(0, 1), bytes: 100, ...changes };
}

/** Returns a write that follows a head: one record, unless `changes` override it. */
export function appendTo(head: Pick<Head, "key" | "epoch" | "seq">, changes: Partial<Append> = {}): Append {
  const { key, epoch, seq } = head;
  return { key, epoch, seq, records: events(seq, 1), bytes: 100, ...changes };
}

/** Returns the members of a write that set a state, with a snapshot if the state is terminal. */
export function status(state: State, time: number, seq: number): Pick<Append, "status" | "snapshot"> {
  const terminal = state === TaskState.COMPLETED || state === TaskState.CANCELED || state === TaskState.FAILED;
  return { status: { state, time }, snapshot: terminal ? { task: taskAt(seq), bytes: 100 } : undefined };
}

const principal = { scheme: "user", scopes: ["read"], claims: { team: "north", deep: { list: [1, null, "x"] } } };

/** A place in a trace. */
export const tracePlace = {
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  tracestate: "vendor=1,other=x:y",
};

export function entry(id: string, kind: InboxEntry["kind"] = "message"): InboxEntry {
  if (kind !== "message") return { id, kind };
  return {
    id,
    kind,
    send: {
      message: message(id),
      configuration: undefined,
      metadata: undefined,
      extensions: ["urn:x"],
      principal,
      trace: tracePlace,
    },
  };
}

export async function readHead(store: TaskStore, { scope, id }: Pick<Head, "scope" | "id">): Promise<Head> {
  const head = await store.head(scope, id);
  assert.ok(head !== undefined, `the head of ${id} is there`);
  return head;
}

/** Returns an entry in a form that compares equal after a store encodes it. */
export function plainEntry({ id, kind, send, wake }: InboxEntry) {
  if (send === undefined) return { id, kind, wake };
  return { id, kind, message: toBinary(MessageSchema, send.message), context: plainContext(send) };
}

function plainContext({ configuration, metadata, extensions, principal, trace }: SendContext) {
  const configurationBytes =
    configuration === undefined ? undefined : toBinary(SendMessageConfigurationSchema, configuration);
  return { configuration: configurationBytes, metadata, extensions: [...extensions], principal, trace };
}

/** Returns a record in a form that compares equal after a store encodes it. */
export function plainRecord(record: LogRecord) {
  if (record.kind === "event") return { ...record, event: toBinary(StreamResponseSchema, record.event) };
  if (record.kind === "message") {
    const context = record.context === undefined ? undefined : plainContext(record.context);
    return { ...record, message: toBinary(MessageSchema, record.message), context };
  }
  if (record.kind === "turnStarted")
    return { ...record, wake: record.wake, message: record.message, trace: record.trace };
  return record.kind === "turnEnded" ? { ...record, error: record.error } : record;
}

export function assertRecords(actual: readonly LogRecord[], expected: readonly LogRecord[]): void {
  assert.deepEqual(actual.map(plainRecord), expected.map(plainRecord));
}

/** Asserts that snapshot and records together make up `log`, however the store splits it. */
export function assertWhole({ head, snapshot, records }: StoredTask, log: readonly LogRecord[]): void {
  const from = snapshot?.seq ?? 0;
  assert.equal(head.seq, log.length);
  assertRecords(records, log.slice(from));
  if (snapshot === undefined) return;
  assert.deepEqual(toBinary(TaskSchema, snapshot.task), toBinary(TaskSchema, taskAt(from)));
}
