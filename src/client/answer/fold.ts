import { replacedBytes, sizeOfEvent, sizeOfMessage, sizeOfTask } from "../../protocol/check/size.js";
import { A2AError } from "../../protocol/errors.js";
import { applyEvent, copyTask, emptyTask } from "../../protocol/fold.js";
import { mergeInPlace } from "../../protocol/metadata.js";
import { type Message, type StreamResponse, type Task, TaskState } from "../../protocol/model.js";
import { isStop } from "../../protocol/states.js";

/**
 * Adds up the events of a stream to its answer: the message, or the task with its status, history and artifacts. Keeps
 * about `maxBytes` at most, and nothing beyond.
 */
export class AnswerFold {
  readonly #maxBytes: number;
  readonly #merge = mergeInPlace();
  #task: Task | undefined;
  #message: Message | undefined;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Applies an event, which stays as it is. */
  add(response: StreamResponse): void {
    const { payload } = response;
    if (payload.case === undefined || this.isFull || this.#message !== undefined) return;
    if (payload.case === "task") {
      this.#bytes = sizeOfTask(payload.value);
      this.#task = copyTask(payload.value);
    } else if (payload.case === "message") {
      this.#bytes = sizeOfMessage(payload.value);
      this.#message = payload.value;
    } else {
      this.#task ??= emptyTask(payload.value.taskId, payload.value.contextId);
      this.#bytes += sizeOfEvent(response) - replacedBytes(this.#task, response);
      applyEvent(this.#task, response, this.#merge);
    }
    if (this.isFull) this.#task = this.#message = undefined;
  }

  /** The events have more content than is kept: there will be no answer. */
  get isFull(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  /** A message is the answer, and nothing can follow it. */
  get isReply(): boolean {
    return this.#message !== undefined;
  }

  /** The answer is there: a message, or a task that has ended or waits for its caller. */
  get isAnswered(): boolean {
    return this.isReply || isStop(this.#task?.status?.state ?? TaskState.UNSPECIFIED);
  }

  /**
   * The message or the task. Throws `invalidAgentResponse` when there was no event, and `contentTooLarge` beyond the
   * limit.
   */
  result(): Message | Task {
    if (this.isFull) {
      const limit = `the limit \`replyMaxBytes\` is ${this.#maxBytes.toLocaleString("en")}`;
      throw new A2AError("contentTooLarge", `the answer is too large to be put together: ${limit}`);
    }
    const result = this.#message ?? this.#task;
    if (result === undefined) throw new A2AError("invalidAgentResponse", "the agent ended the stream without an event");
    return result;
  }
}
