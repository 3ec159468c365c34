import type { Answer } from "../../src/client/answer/answer.js";
import { AnswerStream } from "../../src/client/answer/answer-stream.js";
import type { Message, Task } from "../../src/protocol/model.js";
import type { StreamItem } from "../../src/protocol/operations.js";

/** The protocol's object behind an answer. */
export function contentOf({ task, message }: Answer): Message | Task {
  const content = task ?? message;
  if (content === undefined) throw new TypeError("the answer is neither a task nor a message");
  return content;
}

/** The task of an answer, which must be one. */
export function taskOf({ task, message }: Answer): Task {
  if (task === undefined) throw new TypeError(`a task was wanted, not the message ${message?.messageId}`);
  return task;
}

/** What the stream of an operation adds up to. */
export async function collect(stream: AsyncIterable<StreamItem>): Promise<Message | Task> {
  return contentOf(await new AnswerStream(() => stream, Number.POSITIVE_INFINITY).answer);
}
