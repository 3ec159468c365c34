import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { deriveMessageId } from "../v0.3/json/message-id.js";
import { pick, type UpgradeContext, upgradeMessage, upgradeParts, upgradeStatus } from "./read-objects.js";

// Replies of 0.1 agents → the JSON of 1.0, read leniently.

/** The ids of a task in a request. Replies may omit them. */
export interface NamedTask {
  readonly taskId: string;
  readonly contextId: string;
}

/** The context for a reply about a task. */
export function replyContext(taskId: string): UpgradeContext {
  return { violations: [], lenient: true, mintId: createMessageIds(taskId) };
}

/** Returns the id of the task in a reply. Agents may assign their own ids. */
export function taskIdIn(json: JsonObject, namedTask: NamedTask): string {
  const { id } = json;
  return typeof id === "string" && id !== "" ? id : namedTask.taskId;
}

export function upgradeTask(json: JsonObject, namedTask: NamedTask): JsonObject {
  const id = taskIdIn(json, namedTask);
  const contextId = json["sessionId"] ?? namedTask.contextId;
  const ids = { taskId: id, contextId };
  const status = upgradeStatus(json["status"] ?? {}, replyContext(id), ids);
  const context = replyContext(id);
  const history = readList(json["history"]).map((message) => upgradeMessage(message, context, ids));
  const artifacts = upgradeArtifacts(readList(json["artifacts"]), context);
  return { ...pick(json, ["metadata"]), id, contextId, status, artifacts, history };
}

function readList(json: JsonValue | undefined): JsonValue[] {
  return Array.isArray(json) ? json : [];
}

// The index identifies an artifact. Some agents list each chunk separately, and many never send an index. This joins
// the chunks and assigns free numbers to artifacts without an index of their own.
function upgradeArtifacts(list: readonly JsonValue[], context: UpgradeContext): JsonValue[] {
  const byId = new Map<
    string,
    { readonly parts: JsonValue; readonly isOpen: boolean; readonly artifact: JsonObject }
  >();
  for (const json of list) {
    if (!isJsonObject(json)) continue;
    const { index, append } = json;
    const number = typeof index === "number" ? String(index) : undefined;
    const existing = number === undefined ? undefined : byId.get(number);
    const artifact = upgradeArtifact(json, context);
    const { parts = [] } = artifact;
    if (existing !== undefined && Array.isArray(existing.parts) && (append === true || existing.isOpen)) {
      existing.parts.push(...readList(parts));
      continue;
    }
    const id = existing === undefined && number !== undefined ? number : freeNumber(byId);
    byId.set(id, { parts, isOpen: append === true, artifact: { ...artifact, artifactId: id } });
  }
  return [...byId.values()].map(({ artifact }) => artifact);
}

function freeNumber(entries: ReadonlyMap<string, unknown>): string {
  let number = entries.size;
  while (entries.has(String(number))) number++;
  return String(number);
}

function upgradeArtifact(json: JsonObject, context: UpgradeContext): JsonObject {
  const { index } = json;
  return {
    ...pick(json, ["name", "description", "metadata"]),
    artifactId: typeof index === "number" ? String(index) : "0",
    parts: upgradeParts(json["parts"] ?? null, context),
  };
}

/** Converts an event of a stream. Returns `undefined` for an unknown kind. */
export function upgradeEvent(json: JsonObject, namedTask: NamedTask): JsonObject | undefined {
  const taskId = taskIdIn(json, namedTask);
  const ids = { taskId, contextId: namedTask.contextId };
  const context = replyContext(taskId);
  const { artifact, status } = json;
  const metadata = pick(json, ["metadata"]);
  if (isJsonObject(artifact)) {
    const flags = { append: artifact["append"] === true, lastChunk: artifact["lastChunk"] === true };
    return { artifactUpdate: { ...metadata, ...ids, ...flags, artifact: upgradeArtifact(artifact, context) } };
  }
  if (!isJsonObject(status)) return undefined;
  // An agent may send the whole task in a stream.
  if (["sessionId", "artifacts", "history"].some((member) => (json[member] ?? null) !== null)) {
    return { task: upgradeTask(json, namedTask) };
  }
  return { statusUpdate: { ...metadata, ...ids, status: upgradeStatus(status, context, ids) } };
}

/**
 * Returns a function that assigns ids to the messages of a task, which have none in 0.1. The ids are the same on every
 * read, and a message keeps its id when it moves from the status to the history. Identical messages get distinct ids.
 */
function createMessageIds(taskId: string): (message: JsonObject) => string {
  const counts = new Map<string, number>();
  return ({ role = null, parts = null }) => {
    const id = deriveMessageId({ taskId, role, parts });
    const count = counts.get(id) ?? 0;
    counts.set(id, count + 1);
    return count === 0 ? id : `${id}-${count}`;
  };
}
