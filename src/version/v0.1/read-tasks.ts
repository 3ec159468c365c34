import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { createMessageIds } from "./message-ids.js";
import { pick, type Reading, upgradeMessage, upgradeParts, upgradeStatus } from "./read-objects.js";

// What agents of 0.1 answer with → the JSON of 1.0. Read leniently.

/** What the reader of an answer knows of the task without it. */
export interface KnownTask {
  readonly taskId: string;
  readonly contextId: string;
}

/** A reading of what an agent says of a task. */
export function replyReading(taskId: string): Reading {
  return { violations: [], lenient: true, mintId: createMessageIds(taskId) };
}

/** The id of the task that an answer is about: agents may give tasks ids of their own. */
export function taskIdIn(json: JsonObject, known: KnownTask): string {
  const { id } = json;
  return typeof id === "string" && id !== "" ? id : known.taskId;
}

export function upgradeTask(json: JsonObject, known: KnownTask): JsonObject {
  const id = taskIdIn(json, known);
  const contextId = json["sessionId"] ?? known.contextId;
  const ids = { taskId: id, contextId };
  const status = upgradeStatus(json["status"] ?? {}, replyReading(id), ids);
  const reading = replyReading(id);
  const history = listOf(json["history"]).map((message) => upgradeMessage(message, reading, ids));
  const artifacts = upgradeArtifacts(listOf(json["artifacts"]), reading);
  return { ...pick(json, ["metadata"]), id, contextId, status, artifacts, history };
}

function listOf(json: JsonValue | undefined): JsonValue[] {
  return Array.isArray(json) ? json : [];
}

// An artifact is known by its index. Some agents keep each chunk of one apart, and many never say an index at all: the
// chunks are put together again, and what only happens to have no index gets a number that is free.
function upgradeArtifacts(list: readonly JsonValue[], reading: Reading): JsonValue[] {
  const byId = new Map<
    string,
    { readonly parts: JsonValue; readonly goesOn: boolean; readonly upgraded: JsonObject }
  >();
  for (const json of list) {
    if (!isJsonObject(json)) continue;
    const { index, append } = json;
    const said = typeof index === "number" ? String(index) : undefined;
    const known = said === undefined ? undefined : byId.get(said);
    const upgraded = upgradeArtifact(json, reading);
    const { parts = [] } = upgraded;
    if (known !== undefined && Array.isArray(known.parts) && (append === true || known.goesOn)) {
      known.parts.push(...listOf(parts));
      continue;
    }
    const id = known === undefined && said !== undefined ? said : freeNumber(byId);
    byId.set(id, { parts, goesOn: append === true, upgraded: { ...upgraded, artifactId: id } });
  }
  return [...byId.values()].map(({ upgraded }) => upgraded);
}

function freeNumber(taken: ReadonlyMap<string, unknown>): string {
  let number = taken.size;
  while (taken.has(String(number))) number++;
  return String(number);
}

function upgradeArtifact(json: JsonObject, reading: Reading): JsonObject {
  const { index } = json;
  return {
    ...pick(json, ["name", "description", "metadata"]),
    artifactId: typeof index === "number" ? String(index) : "0",
    parts: upgradeParts(json["parts"] ?? null, reading),
  };
}

/** An event of a stream. `undefined`: one of a kind that is not known. */
export function upgradeEvent(json: JsonObject, known: KnownTask): JsonObject | undefined {
  const taskId = taskIdIn(json, known);
  const ids = { taskId, contextId: known.contextId };
  const reading = replyReading(taskId);
  const { artifact, status } = json;
  const metadata = pick(json, ["metadata"]);
  if (isJsonObject(artifact)) {
    const flags = { append: artifact["append"] === true, lastChunk: artifact["lastChunk"] === true };
    return { artifactUpdate: { ...metadata, ...ids, ...flags, artifact: upgradeArtifact(artifact, reading) } };
  }
  if (!isJsonObject(status)) return undefined;
  // An agent may answer with the whole task where a stream was asked for.
  if (["sessionId", "artifacts", "history"].some((member) => (json[member] ?? null) !== null)) {
    return { task: upgradeTask(json, known) };
  }
  return { statusUpdate: { ...metadata, ...ids, status: upgradeStatus(status, reading, ids) } };
}
