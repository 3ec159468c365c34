import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import { addViolation, mustBe, underIndex, underMember, type Violations } from "../../../protocol/violations.js";
import { isoTime } from "../iso-time.js";
import { messageIdOf } from "./message-id.js";
import { dataFlag, type RoleWord, roleOfWord, roleWords, stateOfWord } from "./words.js";

// Kind-JSON → the JSON of the model, which is then read and validated like any other. Nothing here throws. Values of a
// wrong type stay in place for the reader to report; only what the model's JSON has no place for is validated here.

/** The state of one conversion. */
export interface Upgrade {
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
export function upgradeUnder<T>({ violations }: Upgrade, name: string, upgrade: () => T): T {
  const before = violations.length;
  const upgraded = upgrade();
  if (violations.length !== before) underMember(violations, before, name);
  return upgraded;
}

/** Records a violation of a member, unless the reader is lenient. */
export function complain(run: Upgrade, name: string, description: string): void {
  if (!run.lenient) upgradeUnder(run, name, () => addViolation(run.violations, description));
}

const messageMembers = ["messageId", "taskId", "contextId", "referenceTaskIds", "extensions", "metadata"];

/** `sender` is the role of a message without one. */
export function upgradeMessage(json: JsonValue, run: Upgrade, sender: RoleWord): JsonValue {
  if (!isJsonObject(json)) return json;
  const { kind, role, parts } = json;
  if ((kind ?? "message") !== "message") complain(run, "kind", "must be message");
  const upgraded = copyMembers(json, messageMembers);
  // The reader rejects a request without an id; a reply gets a generated one.
  if (run.lenient) upgraded["messageId"] ??= messageIdOf(json);
  upgraded["role"] = upgradeRole(role, run, sender);
  return upgradeParts(parts, run, upgraded);
}

function upgradeRole(role: JsonValue | undefined, run: Upgrade, sender: RoleWord): JsonValue {
  const known = roleWords.find((word) => word === (role ?? sender));
  if (known !== undefined) return roleOfWord(known);
  const wanted = `must be one of ${roleWords.join(", ")}`;
  complain(run, "role", typeof role === "string" ? wanted : mustBe("a string", role));
  return roleOfWord(sender);
}

export function upgradeTask(json: JsonValue, run: Upgrade): JsonValue {
  if (!isJsonObject(json)) return json;
  const { status, history, artifacts } = json;
  const upgraded = copyMembers(json, ["id", "contextId", "metadata"]);
  upgraded["status"] = upgradeStatus(status ?? {}, run);
  if ((history ?? null) !== null) {
    upgraded["history"] = upgradeList(history, run, "history", (entry) => upgradeMessage(entry, run, "agent"));
  }
  if ((artifacts ?? null) !== null) {
    upgraded["artifacts"] = upgradeList(artifacts, run, "artifacts", (entry) => upgradeArtifact(entry, run));
  }
  return upgraded;
}

function upgradeStatus(json: JsonValue, run: Upgrade): JsonValue {
  if (!isJsonObject(json)) return json;
  const { state, message, timestamp } = json;
  const upgraded: JsonObject = { state: stateOfWord(state) };
  if ((message ?? null) !== null) upgraded["message"] = upgradeMessage(message ?? null, run, "agent");
  const time = typeof timestamp === "string" ? isoTime(timestamp) : undefined;
  if (time !== undefined) upgraded["timestamp"] = time;
  return upgraded;
}

function upgradeArtifact(json: JsonValue, run: Upgrade): JsonValue {
  if (!isJsonObject(json)) return json;
  const upgraded = copyMembers(json, ["artifactId", "name", "description", "extensions", "metadata"]);
  return upgradeParts(json["parts"], run, upgraded);
}

/** Converts an event to a member of the model's stream response. Returns `undefined` for an unknown kind. */
export function upgradeEvent(json: JsonObject, run: Upgrade): JsonObject | undefined {
  switch (kindOf(json)) {
    case "message":
      return { message: upgradeMessage(json, run, "agent") };
    case "task":
      return { task: upgradeTask(json, run) };
    case "status-update": {
      const upgraded = copyMembers(json, ["taskId", "contextId", "metadata"]);
      return { statusUpdate: { ...upgraded, status: upgradeStatus(json["status"] ?? {}, run) } };
    }
    case "artifact-update": {
      const upgraded = copyMembers(json, ["taskId", "contextId", "append", "lastChunk", "metadata"]);
      return { artifactUpdate: { ...upgraded, artifact: upgradeArtifact(json["artifact"] ?? {}, run) } };
    }
    default:
      return undefined;
  }
}

/** Returns the `kind` of an object, or infers it from the members. */
function kindOf(json: JsonObject): JsonValue | undefined {
  const { kind } = json;
  if ((kind ?? null) !== null) return kind;
  const has = (name: string): boolean => (json[name] ?? null) !== null;
  if (has("taskId") && has("artifact")) return "artifact-update";
  if (has("taskId") && (has("final") || has("status"))) return "status-update";
  if (has("messageId") || has("parts")) return "message";
  return has("id") ? "task" : undefined;
}

function upgradeParts(parts: JsonValue | undefined, run: Upgrade, to: JsonObject): JsonObject {
  if ((parts ?? null) !== null) to["parts"] = upgradeList(parts, run, "parts", (part) => upgradePart(part, run));
  return to;
}

function upgradeList(
  list: JsonValue | undefined,
  run: Upgrade,
  name: string,
  upgrade: (entry: JsonValue) => JsonValue,
): JsonValue {
  if (!Array.isArray(list)) return list ?? null;
  return upgradeUnder(run, name, () =>
    list.map((entry, index) => {
      const before = run.violations.length;
      const upgraded = upgrade(entry);
      if (run.violations.length !== before) underIndex(run.violations, before, index);
      return upgraded;
    }),
  );
}

const partKinds = ["text", "file", "data"] as const;
type PartKind = (typeof partKinds)[number];

// Replaces missing content that has been reported already.
const nothing: JsonObject = { text: "" };

function upgradePart(json: JsonValue, run: Upgrade): JsonValue {
  if (!isJsonObject(json)) return json;
  const upgraded = copyMembers(json, ["metadata"]);
  const kind = partKindOf(json, run);
  if (kind === undefined) return { ...upgraded, ...(run.lenient ? {} : nothing) };
  const value = json[kind] ?? null;
  if (value === null) {
    complain(run, kind, "is required");
    return { ...upgraded, ...nothing };
  }
  if (kind === "text") return { ...upgraded, text: value };
  if (kind === "data") return upgradeData(value, upgraded, run);
  return { ...upgraded, ...upgradeUnder(run, "file", () => upgradeFile(value, run)) };
}

/** Returns the kind of a part from `kind`, or from `type` in early peers, otherwise from its members. */
function partKindOf(json: JsonObject, run: Upgrade): PartKind | undefined {
  const said = json["kind"] ?? json["type"] ?? undefined;
  const known = partKinds.find((kind) => kind === said);
  if (known !== undefined) return known;
  const name = (json["kind"] ?? null) === null && said !== undefined ? "type" : "kind";
  const wanted = `must be one of ${partKinds.join(", ")}`;
  if (said !== undefined) complain(run, name, typeof said === "string" ? wanted : mustBe("a string", said));
  const there = partKinds.filter((kind) => (json[kind] ?? null) !== null);
  if (said === undefined && there.length !== 1) complain(run, "kind", wanted);
  return said === undefined || run.lenient ? there[0] : undefined;
}

// Early peers call the bytes `data`; texts about 1.0 use the names of the protobuf form for both members.
const bytesMembers = ["bytes", "fileWithBytes", "data"];
const uriMembers = ["uri", "fileWithUri"];

function upgradeFile(json: JsonValue, run: Upgrade): JsonObject {
  if (!isJsonObject(json)) {
    if (!run.lenient) addViolation(run.violations, mustBe("an object", json));
    return nothing;
  }
  const raw = memberOf(json, bytesMembers);
  const url = memberOf(json, uriMembers);
  if ((raw === undefined) === (url === undefined)) {
    if (!run.lenient) addViolation(run.violations, "must have one of bytes, uri");
    if (raw === undefined) return nothing;
  }
  const upgraded: JsonObject = raw === undefined ? { url: url ?? null } : { raw };
  const { mimeType, name } = json;
  return copyMembers({ mediaType: mimeType ?? null, filename: name ?? null }, ["mediaType", "filename"], upgraded);
}

function memberOf(json: JsonObject, names: readonly string[]): JsonValue | undefined {
  const name = names.find((each) => (json[each] ?? null) !== null);
  return name === undefined ? undefined : json[name];
}

function upgradeData(data: JsonValue, upgraded: JsonObject, run: Upgrade): JsonObject {
  const { metadata } = upgraded;
  if (!isJsonObject(data)) {
    complain(run, "data", mustBe("an object", data));
    return { ...upgraded, data };
  }
  if (!isJsonObject(metadata) || metadata[dataFlag] !== true || !Object.hasOwn(data, "value")) {
    return { ...upgraded, data };
  }
  const { [dataFlag]: _, ...rest } = metadata;
  const value = data["value"] ?? null;
  return Object.keys(rest).length === 0 ? { data: value } : { metadata: rest, data: value };
}
