import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isMessage, isTask, toJson } from "../../protocol/content/objects.js";
import { dataIn, type FileContent, filesIn, type PartList, textOf } from "../../protocol/content/read.js";
import type { StandardSchema } from "../../protocol/content/schema.js";
import { A2AError } from "../../protocol/errors.js";
import { type Artifact, type Message, type SendMessageResponse, type Task, typeNames } from "../../protocol/model.js";
import { type StateName, stateName } from "../../protocol/states.js";
import { type Inspect, inspectWith } from "./inspect.js";

// An agent's answer for programs: texts, data, files and events instead of protocol messages.

/** An artifact of an answer. */
export interface AnswerArtifact {
  /** Unique in its task. */
  readonly id: string;
  /** The name of the artifact; `""` without one. */
  readonly name: string;
  /** Its text parts, joined. */
  readonly text: string;
  /** Its first data part as plain JSON; `undefined` when there is none. */
  readonly data: JsonValue | undefined;
  /** Its files, with their bytes or their URL. */
  readonly files: readonly FileContent[];
}

const code = "invalidAgentResponse";
/** Between the texts of several artifacts. */
export const artifactSeparator = "\n\n";

/**
 * The answer of an agent: a task, or a direct reply without one (spec 3.1.1). Members are computed when they are read.
 *
 * @example
 * ```ts
 * const answer = await client.send("Book a berth");
 * if (answer.state === "input-required") {
 *   console.log(answer.text); // the agent's question
 *   const next = await client.send("MV Alba", { continue: answer });
 *   console.log(next.ok, next.data());
 * }
 * ```
 */
export class Answer {
  private readonly content: Message | Task;

  constructor(content: Message | Task) {
    this.content = content;
  }

  /** The task as a protocol object; `undefined` for a direct reply. */
  get task(): Task | undefined {
    return isTask(this.content) ? this.content : undefined;
  }

  /** A direct reply as a protocol object; `undefined` for a task. */
  get message(): Message | undefined {
    return isTask(this.content) ? undefined : this.content;
  }

  /** The task's state, or `"message"` for a direct reply. */
  get state(): StateName | "message" {
    return isTask(this.content) ? stateName(this.content.status?.state) : "message";
  }

  /** Whether the task completed, or the answer is a direct reply. */
  get ok(): boolean {
    return this.state === "completed" || this.state === "message";
  }

  /** The task's id; `""` for a direct reply, which belongs to no task. */
  get taskId(): string {
    return isTask(this.content) ? this.content.id : this.content.taskId;
  }

  /** The id of the context; `""` if the agent names none. */
  get contextId(): string {
    return this.content.contextId;
  }

  /**
   * The text of a direct reply. For a completed task: the text of its artifacts, separated by blank lines, else of its
   * status message. For any other task: the text of its status message, such as a question or a failure, else of its
   * artifacts.
   */
  get text(): string {
    const content = this.content;
    if (!isTask(content)) return textOf(content.parts);
    if (this.state !== "completed") return this.statusText || artifactText(content.artifacts);
    return artifactText(content.artifacts) || this.statusText;
  }

  /** The text of the task's status message; `""` when there is none. */
  get statusText(): string {
    return textOf(this.task?.status?.message);
  }

  /** The task's artifacts in plain values; empty for a direct reply. */
  get artifacts(): readonly AnswerArtifact[] {
    return (this.task?.artifacts ?? []).map(plainArtifact);
  }

  /** The first data part, from the same parts as `text`, as plain JSON: a copy. `undefined` when there is none. */
  data(): JsonValue | undefined;
  /**
   * The first data part as a Standard Schema parses it. Throws `invalidAgentResponse` with the path of each violation,
   * and a `TypeError` for an asynchronous schema.
   */
  data<T>(schema: StandardSchema<T>): T;
  data<T>(schema?: StandardSchema<T>): T | JsonValue | undefined {
    const lists = this.lists();
    const list = lists.find(({ parts }) => parts.some(({ content }) => content.case === "data"));
    return dataIn(list ?? lists[0] ?? { parts: [], path: "task", code }, schema);
  }

  /** The files, from the same parts as `text`. */
  get files(): readonly FileContent[] {
    return this.lists().flatMap(filesIn);
  }

  /** The answer of SendMessage as JSON of version 1.0: `{ task }` or `{ message }`. */
  toJSON(): JsonObject {
    const content = this.content;
    return isTask(content) ? { task: toJson(content) } : { message: toJson(content) };
  }

  [Symbol.for("nodejs.util.inspect.custom")](_depth: number, options: object, inspect: Inspect): string {
    const { state, text, statusText, artifacts, taskId, contextId } = this;
    const status = statusText === text ? undefined : statusText;
    return inspectWith("Answer", { state, text, statusText: status, artifacts, taskId, contextId }, options, inspect);
  }

  private lists(): readonly PartList[] {
    const content = this.content;
    if (!isTask(content)) return [{ parts: content.parts, path: "message.parts", code }];
    const artifacts = content.artifacts.map(
      ({ parts }, index) => ({ parts, path: `task.artifacts[${index}].parts`, code }) as const,
    );
    const status = { parts: content.status?.message?.parts ?? [], path: "task.status.message.parts", code } as const;
    return this.state === "completed" ? [...artifacts, status] : [status, ...artifacts];
  }
}

/**
 * Converts the result of an operation into an `Answer`: a task, a message, or the reply of `sendMessage`. Throws
 * `invalidAgentResponse` for a reply that has neither, and a `TypeError` for anything else.
 *
 * @example
 * ```ts
 * const answer = answerOf(await client.getTask({ id: "0197-berth" }));
 * console.log(answer.state, answer.text);
 * ```
 */
export function answerOf(content: Message | Task | SendMessageResponse): Answer {
  if (isTask(content) || isMessage(content)) return new Answer(content);
  if (content?.$typeName !== typeNames.SendMessageResponse) {
    throw new TypeError("answerOf() takes a task, a message, or the reply of sendMessage(); read JSON with fromJson()");
  }
  const { value } = content.payload;
  if (value === undefined) throw new A2AError(code, "the agent's answer is empty");
  return new Answer(value);
}

function artifactText(artifacts: readonly Artifact[]): string {
  const [first] = artifacts;
  if (artifacts.length === 1) return textOf(first);
  return artifacts
    .map(textOf)
    .filter((text) => text !== "")
    .join(artifactSeparator);
}

function plainArtifact({ artifactId: id, name, parts }: Artifact, index: number): AnswerArtifact {
  const list: PartList = { parts, path: `task.artifacts[${index}].parts`, code };
  return { id, name, text: textOf(parts), data: dataIn(list, undefined), files: filesIn(list) };
}
