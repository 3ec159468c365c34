import { createNameCheck } from "../../protocol/check/rules.js";
import { sizeOfArtifact, sizeOfMessage } from "../../protocol/check/size.js";
import { dataReader, type FileContent, filesOf, type ReadData, textOf } from "../../protocol/content/read.js";
import type { Scope } from "../../protocol/context.js";
import { type Artifact, type Message, type Task, typeNames } from "../../protocol/model.js";
import { conversationsOff } from "../conversation/conversations.js";
import type { ConversationEntry, ConversationPage } from "../conversation-view.js";
import type { StoredConversationRecord } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { foldStored } from "../task/fold.js";

// A page of the conversation, as a turn reads it. Entries have their content, up to `conversationEntryMaxBytes`; larger
// ones are read from their tasks, the latest first and one task at a time, until they fill a page. What no task has is
// `missing`.

/** The turn that reads. */
export interface ConversationReader {
  readonly runtime: Runtime;
  readonly scope: Scope;
  readonly contextId: string;
  readonly taskId: string;
  readonly message: Message;
}

const maxLast = 1_000;
/** Size of one page, and of what is read from tasks for it. */
const pageBytes = 8 << 20;

const checkPage = createNameCheck<ConversationPage>("turn.conversation()", { last: true, before: true });

/** The conversation in the context of a turn, oldest first, without the message that the turn answers. */
export async function readConversation(
  reader: ConversationReader,
  page: ConversationPage,
): Promise<readonly ConversationEntry[]> {
  checkPage(page);
  const { last = 50, before } = page;
  const { runtime, scope, contextId, taskId, message } = reader;
  if (runtime.conversations === undefined) throw conversationsOff("turn.conversation()");
  if (!Number.isInteger(last) || last < 1 || last > maxLast) {
    throw new TypeError(
      `\`last\` of turn.conversation() is a whole number from 1 to ${maxLast}, not ${JSON.stringify(last)}`,
    );
  }
  const query = { limit: last + 1, before: readNumber(before), maxBytes: pageBytes };
  await runtime.conversations.replies.flush();
  const entries = await runtime.store.readConversation(scope, contextId, query);
  const current = entries.findLast((entry) => {
    const isOwn = entry.taskId === taskId || entry.taskId === "";
    return isOwn && entry.kind === "user" && entry.id === message.messageId;
  });
  const latest = entries.filter((entry) => entry !== current).slice(-last);
  const contents = await readLargeContents(reader, latest);
  return latest.map((record) => new RecordEntry(record, contents.get(record) ?? record.content ?? "large"));
}

function readNumber(before: ConversationPage["before"]): number | undefined {
  if (before === undefined) return undefined;
  const cursor: unknown = typeof before === "object" ? before?.cursor : before;
  if (typeof cursor === "string" && /^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new TypeError("`before` of turn.conversation() must be an entry or the `cursor` of one");
}

type Missing = "dropped" | "large";
type ContentMap = Map<StoredConversationRecord, Message | Artifact | Missing>;

// From the tasks of the entries, the latest first.
async function readLargeContents(
  { runtime, scope }: ConversationReader,
  records: readonly StoredConversationRecord[],
): Promise<ContentMap> {
  const contents: ContentMap = new Map();
  const large = records.filter(({ content, taskId }) => content === undefined && taskId !== "").reverse();
  let tasks = new Map<string, Task | undefined>();
  let readBytes = 0;
  for (const record of large) {
    const { taskId } = record;
    if (readBytes >= pageBytes) contents.set(record, "large");
    else {
      // One at a time in memory: entries of a task are mostly neighbors.
      if (!tasks.has(taskId)) {
        const storedTask = await runtime.store.read(scope, taskId);
        tasks = new Map([[taskId, storedTask === undefined ? undefined : foldStored(storedTask)]]);
      }
      const content = findContent(tasks.get(taskId), record);
      contents.set(record, content ?? "dropped");
      readBytes += measureContent(content);
    }
  }
  return contents;
}

function findContent(task: Task | undefined, { kind, id }: StoredConversationRecord): Message | Artifact | undefined {
  if (kind === "artifact") return task?.artifacts.find(({ artifactId }) => artifactId === id);
  const { message } = task?.status ?? {};
  return message?.messageId === id ? message : task?.history.findLast(({ messageId }) => messageId === id);
}

function measureContent(content: Message | Artifact | undefined): number {
  if (content === undefined) return 0;
  return content.$typeName === typeNames.Message ? sizeOfMessage(content) : sizeOfArtifact(content);
}

class RecordEntry implements ConversationEntry {
  readonly #record: StoredConversationRecord;
  readonly #content: Message | Artifact | Missing;

  constructor(record: StoredConversationRecord, content: Message | Artifact | Missing) {
    this.#record = record;
    this.#content = content;
  }

  get role(): ConversationEntry["role"] {
    return this.#record.kind === "user" ? "user" : "agent";
  }

  get text(): string {
    return textOf(this.#parts);
  }

  get data(): ReadData {
    return dataReader(() => this.message ?? this.artifact ?? []);
  }

  get files(): readonly FileContent[] {
    return filesOf(this.message ?? this.artifact);
  }

  get at(): Date {
    return new Date(this.#record.at);
  }

  get taskId(): string | undefined {
    return this.#record.taskId === "" ? undefined : this.#record.taskId;
  }

  get cursor(): string {
    return String(this.#record.number);
  }

  get message(): Message | undefined {
    const content = this.#content;
    return typeof content === "object" && content.$typeName === typeNames.Message ? content : undefined;
  }

  get artifact(): Artifact | undefined {
    const content = this.#content;
    return typeof content === "object" && content.$typeName === typeNames.Artifact ? content : undefined;
  }

  get missing(): Missing | undefined {
    return typeof this.#content === "string" ? this.#content : undefined;
  }

  get #parts() {
    return (this.message ?? this.artifact)?.parts ?? [];
  }

  /** For logs and fixtures. */
  toJSON(): Pick<ConversationEntry, "role" | "text" | "at" | "taskId" | "missing"> {
    const { role, text, at, taskId, missing } = this;
    return { role, text, at, taskId, missing };
  }
}
