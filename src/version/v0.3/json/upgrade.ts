import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import { addViolation, mustBe, prefixIndex, prefixMember, type Violations } from "../../../protocol/violations.js";
import { deriveMessageId } from "./message-id.js";
import { dataFlag, type RoleWord, roleWords, toRole, toState } from "./words.js";

// Kind-JSON → the JSON of the model, which is then read and validated like any other. Nothing here throws. Values of a
// wrong type stay in place for the reader to report; only what the model's JSON has no place for is validated here.

/** The context of one conversion. */
export interface UpgradeContext {
  /** For replies of peers: tolerates everything that can be interpreted. */
  readonly lenient: boolean;
  /** Violations under the old names. */
  readonly violations: Violations;
}

/** Copies members under the same names; `null` counts as absent. */
export function copyMembers(from: JsonObject, names: readonly string[], to: JsonObject = {}): JsonObject {
  for (const name of names) {
    const value = from[name];
    if (value !== undefined && value !== null) to[name] = value;
  }
  return to;
}

/** Prefixes the violations of a member with its name. */
export function upgradeMember<T>({ violations }: UpgradeContext, name: string, upgrade: () => T): T {
  const before = violations.length;
  const result = upgrade();
  if (violations.length !== before) prefixMember(violations, before, name);
  return result;
}

/** Records a violation of a member, unless the reader is lenient. */
export function noteViolation(context: UpgradeContext, name: string, description: string): void {
  if (!context.lenient) upgradeMember(context, name, () => addViolation(context.violations, description));
}

const messageMembers = ["messageId", "taskId", "contextId", "referenceTaskIds", "extensions", "metadata"];

/** `sender` is the role of a message without one. */
export function upgradeMessage(json: JsonValue, context: UpgradeContext, sender: RoleWord): JsonValue {
  if (!isJsonObject(json)) return json;
  const { kind, role, parts } = json;
  if ((kind ?? "message") !== "message") noteViolation(context, "kind", "must be message");
  const result = copyMembers(json, messageMembers);
  // The reader rejects a request without an id; a reply gets a generated one.
  if (context.lenient) result["messageId"] ??= deriveMessageId(json);
  result["role"] = upgradeRole(role, context, sender);
  return upgradeParts(parts, context, result);
}

function upgradeRole(role: JsonValue | undefined, context: UpgradeContext, sender: RoleWord): JsonValue {
  const given = context.lenient && typeof role === "string" ? role.toLowerCase().replace(/^role_/, "") : role;
  const word = roleWords.find((word) => word === (given ?? sender));
  if (word !== undefined) return toRole(word);
  const rule = `must be one of ${roleWords.join(", ")}`;
  noteViolation(context, "role", typeof role === "string" ? rule : mustBe("a string", role));
  return toRole(sender);
}

export function upgradeTask(json: JsonValue, context: UpgradeContext): JsonValue {
  if (!isJsonObject(json)) return json;
  const { status, history, artifacts } = json;
  const result = copyMembers(json, ["id", "contextId", "metadata"]);
  result["status"] = upgradeStatus(status ?? {}, context);
  if ((history ?? null) !== null) {
    result["history"] = upgradeMember(context, "history", () =>
      upgradeEach(history, context, (entry) => upgradeMessage(entry, context, "agent")),
    );
  }
  if ((artifacts ?? null) !== null) {
    result["artifacts"] = upgradeMember(context, "artifacts", () =>
      upgradeEach(artifacts, context, (entry) => upgradeArtifact(entry, context)),
    );
  }
  return result;
}

function upgradeStatus(json: JsonValue, context: UpgradeContext): JsonValue {
  if (!isJsonObject(json)) return json;
  const { state, message } = json;
  // The reader knows the names and numbers of states, and leaves out a time that it cannot read.
  const result = copyMembers(json, ["timestamp"], { state: toState(state) ?? state ?? null });
  if ((message ?? null) !== null) result["message"] = upgradeMessage(message ?? null, context, "agent");
  return result;
}

function upgradeArtifact(json: JsonValue, context: UpgradeContext): JsonValue {
  if (!isJsonObject(json)) return json;
  const result = copyMembers(json, ["artifactId", "name", "description", "extensions", "metadata"]);
  return upgradeParts(json["parts"], context, result);
}

/** Converts an event to a member of the model's stream response. Returns `undefined` for an unknown kind. */
export function upgradeEvent(json: JsonObject, context: UpgradeContext): JsonObject | undefined {
  switch (findKind(json)) {
    case "message":
      return { message: upgradeMessage(json, context, "agent") };
    case "task":
      return { task: upgradeTask(json, context) };
    case "status-update": {
      const result = copyMembers(json, ["taskId", "contextId", "metadata"]);
      return { statusUpdate: { ...result, status: upgradeStatus(json["status"] ?? {}, context) } };
    }
    case "artifact-update": {
      const result = copyMembers(json, ["taskId", "contextId", "append", "lastChunk", "metadata"]);
      return { artifactUpdate: { ...result, artifact: upgradeArtifact(json["artifact"] ?? {}, context) } };
    }
    default:
      return undefined;
  }
}

/** Returns the `kind` of an object, or infers it from the members. */
function findKind(json: JsonObject): JsonValue | undefined {
  const { kind } = json;
  if ((kind ?? null) !== null) return kind;
  const has = (name: string): boolean => (json[name] ?? null) !== null;
  if (has("taskId") && has("artifact")) return "artifact-update";
  if (has("taskId") && (has("final") || has("status"))) return "status-update";
  if (has("messageId") || has("parts")) return "message";
  return has("id") ? "task" : undefined;
}

function upgradeParts(parts: JsonValue | undefined, context: UpgradeContext, to: JsonObject): JsonObject {
  if ((parts ?? null) !== null) {
    to["parts"] = upgradeMember(context, "parts", () =>
      upgradeEach(parts, context, (part) => upgradePart(part, context)),
    );
  }
  return to;
}

function upgradeEach(
  list: JsonValue | undefined,
  { violations }: UpgradeContext,
  upgrade: (entry: JsonValue) => JsonValue,
): JsonValue {
  if (!Array.isArray(list)) return list ?? null;
  return list.map((entry, index) => {
    const before = violations.length;
    const result = upgrade(entry);
    if (violations.length !== before) prefixIndex(violations, before, index);
    return result;
  });
}

const partKinds = ["text", "file", "data"] as const;
type PartKind = (typeof partKinds)[number];

// Replaces missing content that has been reported already.
const emptyText: JsonObject = { text: "" };

function upgradePart(json: JsonValue, context: UpgradeContext): JsonValue {
  if (!isJsonObject(json)) return json;
  const result = copyMembers(json, ["metadata"]);
  const kind = findPartKind(json, context);
  if (kind === undefined) return { ...result, ...(context.lenient ? {} : emptyText) };
  const value = json[kind] ?? null;
  if (value === null) {
    noteViolation(context, kind, "is required");
    return { ...result, ...emptyText };
  }
  if (kind === "text") return { ...result, text: value };
  if (kind === "data") return upgradeData(value, result, context);
  return { ...result, ...upgradeMember(context, "file", () => upgradeFile(value, context)) };
}

/** Returns the kind of a part from `kind`, or from `type` in early peers, otherwise from its members. */
function findPartKind(json: JsonObject, context: UpgradeContext): PartKind | undefined {
  const value = json["kind"] ?? json["type"] ?? undefined;
  const partKind = partKinds.find((kind) => kind === value);
  if (partKind !== undefined) return partKind;
  const name = (json["kind"] ?? null) === null && value !== undefined ? "type" : "kind";
  const rule = `must be one of ${partKinds.join(", ")}`;
  if (value !== undefined) noteViolation(context, name, typeof value === "string" ? rule : mustBe("a string", value));
  const kindsPresent = partKinds.filter((kind) => (json[kind] ?? null) !== null);
  if (value === undefined && kindsPresent.length !== 1) noteViolation(context, "kind", rule);
  return value === undefined || context.lenient ? kindsPresent[0] : undefined;
}

// Early peers call the bytes `data`; texts about 1.0 use the names of the protobuf form for both members.
const bytesMembers = ["bytes", "fileWithBytes", "data"];
const uriMembers = ["uri", "fileWithUri"];

function upgradeFile(json: JsonValue, context: UpgradeContext): JsonObject {
  if (!isJsonObject(json)) {
    if (!context.lenient) addViolation(context.violations, mustBe("an object", json));
    return emptyText;
  }
  const raw = findMember(json, bytesMembers);
  const url = findMember(json, uriMembers);
  if ((raw === undefined) === (url === undefined)) {
    if (!context.lenient) addViolation(context.violations, "must have one of bytes, uri");
    if (raw === undefined) return emptyText;
  }
  const result: JsonObject = raw === undefined ? { url: url ?? null } : { raw };
  const { mimeType, name } = json;
  return copyMembers({ mediaType: mimeType ?? null, filename: name ?? null }, ["mediaType", "filename"], result);
}

function findMember(json: JsonObject, names: readonly string[]): JsonValue | undefined {
  const name = names.find((each) => (json[each] ?? null) !== null);
  return name === undefined ? undefined : json[name];
}

function upgradeData(data: JsonValue, result: JsonObject, context: UpgradeContext): JsonObject {
  const { metadata } = result;
  if (!isJsonObject(data)) {
    noteViolation(context, "data", mustBe("an object", data));
    return { ...result, data };
  }
  if (!isJsonObject(metadata) || metadata[dataFlag] !== true || !Object.hasOwn(data, "value")) {
    return { ...result, data };
  }
  const { [dataFlag]: _, ...rest } = metadata;
  const value = data["value"] ?? null;
  return Object.keys(rest).length === 0 ? { data: value } : { metadata: rest, data: value };
}
