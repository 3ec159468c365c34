import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { addViolation, mustBe, prefixIndex, prefixMember, type Violations } from "../../protocol/violations.js";
import { deriveMessageId } from "../v0.3/json/message-id.js";
import { dataFlag } from "../v0.3/json/words.js";
import { fileFlag, roleNames, stateNames } from "./words.js";

// Objects of 0.1 → the JSON of 1.0. Nothing here throws. Invalid values stay in place for the reader of 1.0's JSON to
// report; only what that reader could not detect is recorded here. `null` counts as absent.

/** The context of reading one request or reply. */
export interface UpgradeContext {
  readonly violations: Violations;
  /** For replies: tolerates unknown and missing values. */
  readonly lenient: boolean;
  /** Creates the id of a message that has none, from its content. */
  mintId(message: JsonObject): string;
}

/** Copies members that have the same name and meaning in both versions, unless they are `null`. */
export function pick(json: JsonObject, names: readonly string[]): JsonObject {
  const copy: JsonObject = {};
  for (const name of names) {
    const value = json[name] ?? undefined;
    if (value !== undefined) copy[name] = value;
  }
  return copy;
}

/** Converts a message; `ids` are those of its task. */
export function upgradeMessage(json: JsonValue, context: UpgradeContext, ids: JsonObject): JsonValue {
  if (!isJsonObject(json)) return json;
  const role = upgradeRole(json["role"] ?? null, context);
  const message = {
    ...pick(json, ["metadata"]),
    role,
    parts: upgradeParts(json["parts"] ?? readContent(json), context),
  };
  const messageId = json["messageId"] ?? json["message_id"] ?? "";
  return { ...message, ...ids, messageId: messageId === "" ? context.mintId(message) : messageId };
}

// One popular client sends a single part as `content` instead of `parts`.
function readContent({ content = null }: JsonObject): JsonValue {
  return isJsonObject(content) ? [content] : content;
}

function upgradeRole(role: JsonValue, { violations, lenient }: UpgradeContext): JsonValue {
  const name = roleNames.get(lenient && typeof role === "string" ? role.toLowerCase().replace(/^role_/, "") : role);
  if (name !== undefined) return name;
  if (lenient) return "ROLE_AGENT";
  noteUnder("role", violations, role === null ? "is required: user or agent" : "must be user or agent");
  return "ROLE_USER";
}

/** Converts the parts of a message or an artifact. */
function upgradeParts(json: JsonValue, context: UpgradeContext): JsonValue {
  if (json === null) return [];
  if (!Array.isArray(json)) return json;
  const { violations } = context;
  const before = violations.length;
  const parts = json.map((part, index) => {
    const from = violations.length;
    const modelPart = upgradePart(part, context);
    if (violations.length !== from) prefixIndex(violations, from, index);
    return modelPart;
  });
  if (violations.length !== before) prefixMember(violations, before, "parts");
  return parts;
}

/** Converts a part. `type` names its kind; without it, the members decide. */
function upgradePart(json: JsonValue, context: UpgradeContext): JsonValue {
  if (!isJsonObject(json)) return json;
  const { lenient, violations } = context;
  const type =
    json["type"] ?? json["kind"] ?? partUpgrades.find(([name]) => (json[name] ?? null) !== null)?.[0] ?? null;
  const upgrade = partUpgrades.find(([name]) => name === type)?.[1];
  if (upgrade !== undefined) return { ...pick(json, ["metadata"]), ...upgrade(json, context) };
  // Kept as received, so that nothing of the reply is lost.
  if (lenient) return { data: json };
  noteUnder("type", violations, type === null ? "is required: text, file or data" : "must be text, file or data");
  return { text: "" };
}

type PartUpgrade = (json: JsonObject, context: UpgradeContext) => JsonObject;

const partUpgrades: readonly (readonly [type: string, upgrade: PartUpgrade])[] = [
  ["text", upgradeText],
  ["file", upgradeFile],
  ["data", upgradeData],
];

function upgradeText(json: JsonObject, context: UpgradeContext): JsonObject {
  return { text: json["text"] ?? requireMember("text", context, "") };
}

const fileMembers = ["name", "mimeType", "bytes", "uri", "data", "url"];

function upgradeFile(json: JsonObject, context: UpgradeContext): JsonObject {
  const file = json["file"] ?? requireMember("file", context, {});
  if (!isJsonObject(file)) {
    noteUnder("file", context.violations, mustBe("an object", file));
    return { text: "" };
  }
  const part: JsonObject = {};
  // Some peers use `data` and `url`.
  const { name, mimeType, data, url, bytes = data, uri = url } = pick(file, fileMembers);
  if (name !== undefined) part["filename"] = name;
  if (mimeType !== undefined) part["mediaType"] = mimeType;
  // If both are present, the bytes win unless they are empty.
  if (bytes !== undefined && (bytes !== "" || (uri ?? "") === "")) return { ...part, raw: bytes };
  if (uri !== undefined) return { ...part, url: uri };
  const metadata = isJsonObject(json["metadata"]) ? json["metadata"] : {};
  return { data: { file: pick(file, ["name", "mimeType"]) }, metadata: { ...metadata, [fileFlag]: true } };
}

function upgradeData(json: JsonObject, context: UpgradeContext): JsonObject {
  const data = json["data"] ?? requireMember("data", context, {});
  const metadata = json["metadata"];
  if (isJsonObject(metadata) && metadata[dataFlag] === true && isJsonObject(data)) {
    const { [dataFlag]: _, ...rest } = metadata;
    // Metadata that held only the flag is dropped: `null` counts as absent.
    return { data: data["value"] ?? null, metadata: Object.keys(rest).length === 0 ? null : rest };
  }
  if (!context.lenient && typeof data !== "object") {
    noteUnder("data", context.violations, mustBe("an object or an array", data));
  }
  return { data };
}

function requireMember<T extends JsonValue>(name: string, { violations, lenient }: UpgradeContext, fallback: T): T {
  if (!lenient) noteUnder(name, violations, "is required");
  return fallback;
}

function noteUnder(name: string, violations: Violations, description: string): void {
  const from = violations.length;
  addViolation(violations, description);
  prefixMember(violations, from, name);
}

/** Converts a status; its message gets the ids of the task. */
function upgradeStatus(json: JsonValue, context: UpgradeContext, ids: JsonObject): JsonValue {
  if (!isJsonObject(json)) return json;
  // The reader knows the names and numbers of states, and leaves out a time that it cannot read.
  const { state = null } = json;
  const status: JsonObject = { ...pick(json, ["timestamp"]), state: stateNames.get(state) ?? state };
  if ((json["message"] ?? null) !== null) status["message"] = upgradeMessage(json["message"] ?? null, context, ids);
  return status;
}

// Tasks and events of replies, read leniently.

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
