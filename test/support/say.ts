import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { A2AError } from "../../src/protocol/errors.js";
import {
  type Message,
  type Part,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
  TaskState,
} from "../../src/protocol/model.js";
import { findOperation, type OperationName, type RequestOf, type StreamItem } from "../../src/protocol/operations.js";
import { toParts } from "../../src/protocol/parts.js";

type SendInit = MessageInitShape<typeof SendMessageRequestSchema>;

/** What a message may have besides its text. */
export interface SayOptions {
  readonly taskId?: string;
  readonly contextId?: string;
  readonly messageId?: string;
  readonly referenceTaskIds?: readonly string[];
  readonly tenant?: string;
  readonly metadata?: SendInit["metadata"];
  readonly configuration?: SendInit["configuration"];
}

let messages = 0;

/** A request that sends a message. */
export function say(content: string | Part | readonly Part[], options: SayOptions = {}): SendMessageRequest {
  const { taskId, contextId, messageId = `said-${++messages}`, referenceTaskIds = [], ...rest } = options;
  const message = { messageId, taskId, contextId, role: Role.USER, parts: toParts(content) };
  return create(SendMessageRequestSchema, {
    ...rest,
    message: { ...message, referenceTaskIds: [...referenceTaskIds] },
  } as SendInit);
}

/** A request of another operation, from its fields. */
export function requestOf<K extends OperationName>(name: K, fields: Partial<RequestOf<K>> = {}): RequestOf<K> {
  return create(findOperation(name).input, fields as Record<string, unknown>) as RequestOf<K>;
}

/** The task of an answer. Fails when it is a message. */
export function taskOf({ payload }: SendMessageResponse | StreamResponse): Task {
  if (payload.case !== "task") throw new Error(`the answer is no task but ${payload.case}`);
  return payload.value;
}

/** The message of an answer. Fails when it is a task. */
export function messageOf({ payload }: SendMessageResponse | StreamResponse): Message {
  if (payload.case !== "message") throw new Error(`the answer is no message but ${payload.case}`);
  return payload.value;
}

/** The name of a task's state: `COMPLETED`. */
export function stateOf(task: Task | undefined): string {
  return TaskState[task?.status?.state ?? TaskState.UNSPECIFIED];
}

/** The text of all parts, joined. */
export function textIn(parts: readonly Part[] | undefined): string {
  return (parts ?? []).map(({ content }) => (content.case === "text" ? content.value : `<${content.case}>`)).join("");
}

/** The texts of a task's history, each with its role. */
export function historyOf({ history }: Task): string[] {
  return history.map(({ role, parts }) => `${role === Role.USER ? "user" : "agent"}: ${textIn(parts)}`);
}

/** A stream item in one line: `task SUBMITTED`, `status WORKING`, `artifact a "text" append last`. */
export function lineOf({ response: { payload } }: StreamItem): string {
  switch (payload.case) {
    case "task":
      return `task ${stateOf(payload.value)}`;
    case "message":
      return `message ${JSON.stringify(textIn(payload.value.parts))}`;
    case "statusUpdate":
      return `status ${TaskState[payload.value.status?.state ?? 0]}`;
    case "artifactUpdate": {
      const { artifact, append, lastChunk } = payload.value;
      const text = JSON.stringify(textIn(artifact?.parts));
      return `artifact ${artifact?.artifactId} ${text}${append ? " append" : ""}${lastChunk ? " last" : ""}`;
    }
    default:
      return "nothing";
  }
}

/** Reads a stream to its end as lines. */
export async function linesOf(stream: AsyncIterable<StreamItem>): Promise<string[]> {
  const lines: string[] = [];
  for await (const item of stream) lines.push(lineOf(item));
  return lines;
}

/** Reads until an item matches; returns everything read, the match last. */
export async function readUntil(
  stream: AsyncIterator<StreamItem>,
  isLast: (line: string) => boolean,
): Promise<StreamItem[]> {
  const items: StreamItem[] = [];
  for (let step = await stream.next(); step.done !== true; step = await stream.next()) {
    items.push(step.value);
    if (isLast(lineOf(step.value))) return items;
  }
  throw new Error(`the stream ended after ${JSON.stringify(items.map(lineOf))}`);
}

/** A stream whose first item has arrived. */
export interface OpenStream {
  readonly firstItem: StreamItem;
  readonly iterator: AsyncIterator<StreamItem>;
  /** Reads the rest as lines. */
  readRest(): Promise<string[]>;
}

/** Opens a stream and resolves with its first item. */
export async function openStream(stream: AsyncIterable<StreamItem>): Promise<OpenStream> {
  const iterator = stream[Symbol.asyncIterator]();
  const step = await iterator.next();
  if (step.done === true) throw new Error("the stream was empty");
  return { firstItem: step.value, iterator, readRest: () => linesOf({ [Symbol.asyncIterator]: () => iterator }) };
}

/** The error with which a call or a stream fails. */
export async function errorOf(call: Promise<unknown> | AsyncIterable<unknown>): Promise<A2AError> {
  try {
    if (Symbol.asyncIterator in call) for await (const _ of call);
    else await call;
  } catch (error) {
    return error as A2AError;
  }
  throw new Error("the call succeeded");
}
