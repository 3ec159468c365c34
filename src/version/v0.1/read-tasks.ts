import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { createMessageIds } from "./message-ids.js";
import { pick, type Reading, upgradeMessage, upgradeParts, upgradeStatus } from "./read-objects.js";

// Replies of 0.1 agents → the JSON of 1.0, read leniently.

/** What the reader of a reply knows about the task from the request. */
export interface KnownTask {
  readonly taskId: string;
  readonly contextId: string;
}

/** Creates the reading of a reply about a task. */
export function replyReading(taskId: string): Reading {
  return { violations: [], lenient: true, mintId: createMessageIds(taskId) };
}

/** Returns the id of the task in a reply. Agents may assign their own ids. */
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

// The index identifies an artifact. Some agents list each chunk separately, and many never send an index. This joins
// the chunks and assigns free numbers to artifacts without an index of their own.
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

/** Converts an event of a stream. Returns `undefined` for an unknown kind. */
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
  // An agent may send the whole task in a stream.
  if (["sessionId", "artifacts", "history"].some((member) => (json[member] ?? null) !== null)) {
    return { task: upgradeTask(json, known) };
  }
  return { statusUpdate: { ...metadata, ...ids, status: upgradeStatus(status, reading, ids) } };
}
