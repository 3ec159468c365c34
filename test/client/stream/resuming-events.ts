import { create } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskState,
} from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { toParts } from "../../../src/protocol/parts.js";
import { lineOf } from "../../support/say.js";

// An agent's events and a reader's view of them.

const ids = { taskId: "t", contextId: "c" };

export function taskEvent(value: Task): StreamResponse {
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "task", value } };
}

export function status(state: keyof typeof TaskState, words?: string): StreamResponse {
  const message = words === undefined ? {} : { message: agentMessage(words) };
  return create(StreamResponseSchema, {
    payload: { case: "statusUpdate", value: { ...ids, status: { state: TaskState[state], ...message } } },
  });
}

export function chunk(text: string, append = true, artifactId = "a"): StreamResponse {
  return create(StreamResponseSchema, {
    payload: { case: "artifactUpdate", value: { ...ids, append, artifact: { artifactId, parts: toParts(text) } } },
  });
}

export function messageEvent(text: string): StreamResponse {
  return create(StreamResponseSchema, { payload: { case: "message", value: agentMessage(text) } });
}

function agentMessage(text: string): Message {
  return create(MessageSchema, { messageId: `m-${text}`, role: Role.AGENT, parts: toParts(text) });
}

/** Formats an item as a line, including how it was recovered. */
export function toldLine(item: StreamItem): string {
  return item.recovered === undefined ? lineOf(item) : `${item.recovered}: ${lineOf(item)}`;
}

/** A stream that is read one item at a time. */
export interface LineReader {
  /** The next item as a line, or `end` after the last one. */
  next(): Promise<string>;
  /** All remaining lines. */
  rest(): Promise<string[]>;
  leave(): Promise<unknown>;
  /** The last item read. */
  readonly last: StreamItem | undefined;
}

export function lineReaderOf(stream: AsyncIterable<StreamItem>): LineReader {
  const items = stream[Symbol.asyncIterator]();
  let last: StreamItem | undefined;
  const next = async (): Promise<string> => {
    const step = await items.next();
    if (step.done === true) return "end";
    last = step.value;
    return toldLine(last);
  };
  return {
    next,
    async rest() {
      const lines: string[] = [];
      for (let line = await next(); line !== "end"; line = await next()) lines.push(line);
      return lines;
    },
    leave: async () => items.return?.(),
    get last() {
      return last;
    },
  };
}
