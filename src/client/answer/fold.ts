import { mergeInPlace } from "../../protocol/artifact-chunks.js";
import { replacedBytes, sizeOfEvent, sizeOfMessage, sizeOfPart, sizeOfTask } from "../../protocol/check/size.js";
import { replyTooLarge } from "../../protocol/codec/reply-too-large.js";
import { A2AError } from "../../protocol/errors.js";
import { applyEvent, artifactIndex, copyTask, emptyTask } from "../../protocol/fold.js";
import {
  type Artifact,
  type Message,
  type Part,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskState,
} from "../../protocol/model.js";
import { endsBlockingSend } from "../../protocol/states.js";

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
  /** The artifact that grows by pieces of text, and what it has gained since it was folded: a string for each piece. */
  #openArtifact: Artifact | undefined;
  #newText = "";

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Applies an event, which stays as it is. */
  add(response: StreamResponse): void {
    const { payload } = response;
    if (payload.case === "artifactUpdate" && this.#appendText(payload.value)) return;
    if (payload.case === undefined || this.isFull || this.#message !== undefined) return;
    this.#settle();
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
      this.#openArtifact = payload.case === "artifactUpdate" ? findOpenArtifact(this.#task, payload.value) : undefined;
    }
    if (this.isFull) this.#drop();
  }

  /** Takes a further piece of text of the artifact that grows. Most events are such pieces. */
  #appendText({ artifact, append }: TaskArtifactUpdateEvent): boolean {
    const openArtifact = this.#openArtifact;
    if (openArtifact === undefined || !append || artifact?.artifactId !== openArtifact.artifactId) return false;
    const [part] = artifact.parts;
    if (part === undefined || artifact.parts.length > 1 || artifact.metadata !== undefined) return false;
    if (!isPlain(part) || part.mediaType !== openArtifact.parts.at(-1)?.mediaType) return false;
    this.#newText += part.content.value;
    this.#bytes += sizeOfPart(part);
    if (this.isFull) this.#drop();
    return true;
  }

  /** Folds what the artifact has gained. */
  #settle(): void {
    const last = this.#openArtifact?.parts.pop();
    if (this.#openArtifact === undefined || last === undefined) return;
    const value = (isPlain(last) ? last.content.value : "") + this.#newText;
    this.#openArtifact.parts.push({ ...last, content: { case: "text", value } });
    this.#openArtifact = undefined;
    this.#newText = "";
  }

  #drop(): void {
    this.#task = this.#message = this.#openArtifact = undefined;
    this.#newText = "";
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
    return this.isReply || endsBlockingSend(this.#task?.status?.state ?? TaskState.UNSPECIFIED);
  }

  /**
   * The message or the task. Throws `invalidAgentResponse` when there was no event, and `contentTooLarge` beyond the
   * limit.
   */
  result(): Message | Task {
    if (this.isFull) {
      const limit = `the limit \`replyMaxBytes\` is ${this.#maxBytes.toLocaleString("en")}`;
      throw replyTooLarge(`the answer is too large to be put together: ${limit}`);
    }
    this.#settle();
    const result = this.#message ?? this.#task;
    if (result === undefined) throw new A2AError("invalidAgentResponse", "the agent ended the stream without an event");
    return result;
  }
}

/** The artifact of the event, when it ends in plain text, which the next piece may extend. */
function findOpenArtifact({ artifacts }: Task, { artifact }: TaskArtifactUpdateEvent): Artifact | undefined {
  const taskArtifact = artifacts[artifactIndex(artifacts, artifact?.artifactId ?? "")];
  const last = taskArtifact?.parts.at(-1);
  return last !== undefined && isPlain(last) ? taskArtifact : undefined;
}

function isPlain(part: Part): part is Part & { content: { case: "text" } } {
  return part.content.case === "text" && part.filename === "" && part.metadata === undefined;
}
