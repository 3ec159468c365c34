import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/dynamic.js";
import { addViolation, mustBe, underIndex, underMember, type Violations } from "../../protocol/violations.js";
import { isoTime } from "./iso-time.js";
import { messageIdOf } from "./kind-message-id.js";
import { dataFlag, type RoleWord, roleOfWord, roleWords, stateOfWord } from "./kind-words.js";

// Kind-JSON made the JSON of the model, which is then read and checked like any other. Nothing throws here: what is of a
// wrong type stays in its place, so that the reader finds it there; only what the model's JSON has no place for is judged.

/** One walk over old JSON. */
export interface Lift {
  /** For replies of peers: nothing is held against them that can be made sense of. */
  readonly lenient: boolean;
  /** What is wrong, by the old names. */
  readonly violations: Violations;
}

/** Copies members under their own names; `null` is as good as absent. */
export function copyMembers(from: JsonObject, names: readonly string[], to: JsonObject = {}): JsonObject {
  for (const name of names) {
    const value = from[name];
    if (value !== undefined && value !== null) to[name] = value;
  }
  return to;
}

/** Puts the name of a member before what is noted while it is lifted. */
export function liftUnder<T>({ violations }: Lift, name: string, lift: () => T): T {
  const before = violations.length;
  const lifted = lift();
  if (violations.length !== before) underMember(violations, before, name);
  return lifted;
}

/** Notes something of a member, unless nothing is held against anybody. */
export function complain(run: Lift, name: string, description: string): void {
  if (!run.lenient) liftUnder(run, name, () => addViolation(run.violations, description));
}

const messageMembers = ["messageId", "taskId", "contextId", "referenceTaskIds", "extensions", "metadata"];

/** `sender`: the role of a message that says none. */
export function liftMessage(json: JsonValue, run: Lift, sender: RoleWord): JsonValue {
  if (!isJsonObject(json)) return json;
  const { kind, role, parts } = json;
  if ((kind ?? "message") !== "message") complain(run, "kind", "must be message");
  const lifted = copyMembers(json, messageMembers);
  // A sender that gives none is refused by the model's own rule. What a peer answers is read all the same.
  if (run.lenient) lifted["messageId"] ??= messageIdOf(json);
  lifted["role"] = liftRole(role, run, sender);
  return liftParts(parts, run, lifted);
}

function liftRole(role: JsonValue | undefined, run: Lift, sender: RoleWord): JsonValue {
  const known = roleWords.find((word) => word === (role ?? sender));
  if (known !== undefined) return roleOfWord(known);
  const wanted = `must be one of ${roleWords.join(", ")}`;
  complain(run, "role", typeof role === "string" ? wanted : mustBe("a string", role));
  return roleOfWord(sender);
}

export function liftTask(json: JsonValue, run: Lift): JsonValue {
  if (!isJsonObject(json)) return json;
  const { status, history, artifacts } = json;
  const lifted = copyMembers(json, ["id", "contextId", "metadata"]);
  lifted["status"] = liftStatus(status ?? {}, run);
  if ((history ?? null) !== null) {
    lifted["history"] = liftList(history, run, "history", (entry) => liftMessage(entry, run, "agent"));
  }
  if ((artifacts ?? null) !== null) {
    lifted["artifacts"] = liftList(artifacts, run, "artifacts", (entry) => liftArtifact(entry, run));
  }
  return lifted;
}

function liftStatus(json: JsonValue, run: Lift): JsonValue {
  if (!isJsonObject(json)) return json;
  const { state, message, timestamp } = json;
  const lifted: JsonObject = { state: stateOfWord(state) };
  if ((message ?? null) !== null) lifted["message"] = liftMessage(message ?? null, run, "agent");
  const time = typeof timestamp === "string" ? isoTime(timestamp) : undefined;
  if (time !== undefined) lifted["timestamp"] = time;
  return lifted;
}

function liftArtifact(json: JsonValue, run: Lift): JsonValue {
  if (!isJsonObject(json)) return json;
  const lifted = copyMembers(json, ["artifactId", "name", "description", "extensions", "metadata"]);
  return liftParts(json["parts"], run, lifted);
}

/** An event as the member of the model's stream response that it is; `undefined` for a kind that is not known. */
export function liftEvent(json: JsonObject, run: Lift): JsonObject | undefined {
  switch (kindOf(json)) {
    case "message":
      return { message: liftMessage(json, run, "agent") };
    case "task":
      return { task: liftTask(json, run) };
    case "status-update": {
      const lifted = copyMembers(json, ["taskId", "contextId", "metadata"]);
      return { statusUpdate: { ...lifted, status: liftStatus(json["status"] ?? {}, run) } };
    }
    case "artifact-update": {
      const lifted = copyMembers(json, ["taskId", "contextId", "append", "lastChunk", "metadata"]);
      return { artifactUpdate: { ...lifted, artifact: liftArtifact(json["artifact"] ?? {}, run) } };
    }
    default:
      return undefined;
  }
}

/** What an object is: it says so, or its members do. */
function kindOf(json: JsonObject): JsonValue | undefined {
  const { kind } = json;
  if ((kind ?? null) !== null) return kind;
  const has = (name: string): boolean => (json[name] ?? null) !== null;
  if (has("taskId") && has("artifact")) return "artifact-update";
  if (has("taskId") && (has("final") || has("status"))) return "status-update";
  if (has("messageId") || has("parts")) return "message";
  return has("id") ? "task" : undefined;
}

function liftParts(parts: JsonValue | undefined, run: Lift, to: JsonObject): JsonObject {
  if ((parts ?? null) !== null) to["parts"] = liftList(parts, run, "parts", (part) => liftPart(part, run));
  return to;
}

function liftList(
  list: JsonValue | undefined,
  run: Lift,
  name: string,
  lift: (entry: JsonValue) => JsonValue,
): JsonValue {
  if (!Array.isArray(list)) return list ?? null;
  return liftUnder(run, name, () =>
    list.map((entry, index) => {
      const before = run.violations.length;
      const lifted = lift(entry);
      if (run.violations.length !== before) underIndex(run.violations, before, index);
      return lifted;
    }),
  );
}

const partKinds = ["text", "file", "data"] as const;
type PartKind = (typeof partKinds)[number];

// Stands where a content is missing that was complained of already.
const nothing: JsonObject = { text: "" };

function liftPart(json: JsonValue, run: Lift): JsonValue {
  if (!isJsonObject(json)) return json;
  const lifted = copyMembers(json, ["metadata"]);
  const kind = partKindOf(json, run);
  if (kind === undefined) return { ...lifted, ...(run.lenient ? {} : nothing) };
  const value = json[kind] ?? null;
  if (value === null) {
    complain(run, kind, "is required");
    return { ...lifted, ...nothing };
  }
  if (kind === "text") return { ...lifted, text: value };
  if (kind === "data") return liftData(value, lifted, run);
  return { ...lifted, ...liftUnder(run, "file", () => liftFile(value, run)) };
}

/** The kind that a part says, as `kind` or as early peers did as `type`, else the one that it has a member for. */
function partKindOf(json: JsonObject, run: Lift): PartKind | undefined {
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

// Early peers named the bytes `data`; texts about 1.0 name both members as the protobuf form does.
const bytesMembers = ["bytes", "fileWithBytes", "data"];
const uriMembers = ["uri", "fileWithUri"];

function liftFile(json: JsonValue, run: Lift): JsonObject {
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
  const lifted: JsonObject = raw === undefined ? { url: url ?? null } : { raw };
  const { mimeType, name } = json;
  return copyMembers({ mediaType: mimeType ?? null, filename: name ?? null }, ["mediaType", "filename"], lifted);
}

function memberOf(json: JsonObject, names: readonly string[]): JsonValue | undefined {
  const name = names.find((each) => (json[each] ?? null) !== null);
  return name === undefined ? undefined : json[name];
}

function liftData(data: JsonValue, lifted: JsonObject, run: Lift): JsonObject {
  const { metadata } = lifted;
  if (!isJsonObject(data)) {
    complain(run, "data", mustBe("an object", data));
    return { ...lifted, data };
  }
  if (!isJsonObject(metadata) || metadata[dataFlag] !== true || !Object.hasOwn(data, "value")) {
    return { ...lifted, data };
  }
  const { [dataFlag]: _, ...rest } = metadata;
  const value = data["value"] ?? null;
  return Object.keys(rest).length === 0 ? { data: value } : { metadata: rest, data: value };
}
