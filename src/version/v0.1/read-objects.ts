import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { addViolation, mustBe, underIndex, underMember, type Violations } from "../../protocol/violations.js";
import { isoTime } from "../v0.3/iso-time.js";
import { dataFlag } from "../v0.3/json/words.js";
import { fileFlag, roleNames, stateNames } from "./words.js";

// Objects of 0.1 → the JSON of 1.0. Nothing throws here, and what is wrong stays where it is, for the reader of 1.0's JSON
// to find; only what that could not see is noted. `null` is what is not there.

/** One reading of a request or a reply. */
export interface Reading {
  readonly violations: Violations;
  /** For replies: what is unknown or missing is made the best of. */
  readonly lenient: boolean;
  /** The id of a message that brings none; it is given what is known of the message. */
  mintId(message: JsonObject): string;
}

/** Takes members over that have the same name and meaning in both, unless they are `null`. */
export function pick(json: JsonObject, names: readonly string[]): JsonObject {
  const picked: JsonObject = {};
  for (const name of names) {
    const value = json[name] ?? undefined;
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

/** A message; the ids are those of its task. */
export function upgradeMessage(json: JsonValue, reading: Reading, ids: JsonObject): JsonValue {
  if (!isJsonObject(json)) return json;
  const role = upgradeRole(json["role"] ?? null, reading);
  const message = { ...pick(json, ["metadata"]), role, parts: upgradeParts(json["parts"] ?? contentOf(json), reading) };
  const own = json["messageId"] ?? json["message_id"] ?? "";
  return { ...message, ...ids, messageId: own === "" ? reading.mintId(message) : own };
}

// One popular client says `content` with a single part for `parts`.
function contentOf({ content = null }: JsonObject): JsonValue {
  return isJsonObject(content) ? [content] : content;
}

function upgradeRole(role: JsonValue, { violations, lenient }: Reading): JsonValue {
  const name = roleNames.get(role);
  if (name !== undefined) return name;
  if (lenient) return "ROLE_AGENT";
  noteUnder("role", violations, role === null ? "is required: user or agent" : "must be user or agent");
  return "ROLE_USER";
}

/** The list of parts of a message or an artifact. */
export function upgradeParts(json: JsonValue, reading: Reading): JsonValue {
  if (json === null) return [];
  if (!Array.isArray(json)) return json;
  const { violations } = reading;
  const before = violations.length;
  const parts = json.map((part, index) => {
    const from = violations.length;
    const upgraded = upgradePart(part, reading);
    if (violations.length !== from) underIndex(violations, from, index);
    return upgraded;
  });
  if (violations.length !== before) underMember(violations, before, "parts");
  return parts;
}

/** A part: `type` says what it is; where that is missing, its members do. */
function upgradePart(json: JsonValue, reading: Reading): JsonValue {
  if (!isJsonObject(json)) return json;
  const { lenient, violations } = reading;
  const type = json["type"] ?? json["kind"] ?? partLifts.find(([name]) => (json[name] ?? null) !== null)?.[0] ?? null;
  const upgrade = partLifts.find(([name]) => name === type)?.[1];
  if (upgrade !== undefined) return { ...pick(json, ["metadata"]), ...upgrade(json, reading) };
  // Told as it came, so that nothing of the answer is lost.
  if (lenient) return { data: json };
  noteUnder("type", violations, type === null ? "is required: text, file or data" : "must be text, file or data");
  return { text: "" };
}

type PartUpgrade = (json: JsonObject, reading: Reading) => JsonObject;

const partLifts: readonly (readonly [type: string, upgrade: PartUpgrade])[] = [
  ["text", upgradeText],
  ["file", upgradeFile],
  ["data", upgradeData],
];

function upgradeText(json: JsonObject, reading: Reading): JsonObject {
  return { text: json["text"] ?? missing("text", reading, "") };
}

const fileMembers = ["name", "mimeType", "bytes", "uri", "data", "url"];

function upgradeFile(json: JsonObject, reading: Reading): JsonObject {
  const file = json["file"] ?? missing("file", reading, {});
  if (!isJsonObject(file)) {
    noteUnder("file", reading.violations, mustBe("an object", file));
    return { text: "" };
  }
  const part: JsonObject = {};
  // Some peers say `data` and `url`.
  const { name, mimeType, data, url, bytes = data, uri = url } = pick(file, fileMembers);
  if (name !== undefined) part["filename"] = name;
  if (mimeType !== undefined) part["mediaType"] = mimeType;
  // Of both the bytes count, unless there are none of them.
  if (bytes !== undefined && (bytes !== "" || (uri ?? "") === "")) return { ...part, raw: bytes };
  if (uri !== undefined) return { ...part, url: uri };
  const metadata = isJsonObject(json["metadata"]) ? json["metadata"] : {};
  return { data: { file: pick(file, ["name", "mimeType"]) }, metadata: { ...metadata, [fileFlag]: true } };
}

function upgradeData(json: JsonObject, reading: Reading): JsonObject {
  const data = json["data"] ?? missing("data", reading, {});
  const metadata = json["metadata"];
  if (isJsonObject(metadata) && metadata[dataFlag] === true && isJsonObject(data)) {
    const { [dataFlag]: _, ...rest } = metadata;
    // The metadata that was there for the mark alone goes with it: `null` is what is not there.
    return { data: data["value"] ?? null, metadata: Object.keys(rest).length === 0 ? null : rest };
  }
  if (!reading.lenient && typeof data !== "object") {
    noteUnder("data", reading.violations, mustBe("an object or an array", data));
  }
  return { data };
}

function missing<T extends JsonValue>(name: string, { violations, lenient }: Reading, instead: T): T {
  if (!lenient) noteUnder(name, violations, "is required");
  return instead;
}

function noteUnder(name: string, violations: Violations, description: string): void {
  const from = violations.length;
  addViolation(violations, description);
  underMember(violations, from, name);
}

/** A status, with the ids of its task for its message. */
export function upgradeStatus(json: JsonValue, reading: Reading, ids: JsonObject): JsonValue {
  if (!isJsonObject(json)) return json;
  const status: JsonObject = { state: stateNames.get(json["state"]) ?? "TASK_STATE_UNSPECIFIED" };
  const { timestamp: time } = json;
  // What is no time is left out.
  const timestamp = typeof time === "string" ? isoTime(time) : undefined;
  if (timestamp !== undefined) status["timestamp"] = timestamp;
  if ((json["message"] ?? null) !== null) status["message"] = upgradeMessage(json["message"] ?? null, reading, ids);
  return status;
}
