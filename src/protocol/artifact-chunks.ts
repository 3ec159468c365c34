import type { JsonObject } from "@bufbuild/protobuf";
import { setOwn } from "./codec/outline/dynamic.js";
import type { Artifact, Part } from "./model.js";

/**
 * Appends a chunk to its artifact in place (spec 4.2.2). Parts are shared with the chunk and never modified. A text
 * chunk extends the preceding text part, so that a stream of tokens becomes one part instead of thousands.
 */
export function appendChunk(artifact: Artifact, chunk: Artifact, merge: MergeMetadata = mergeMetadata): void {
  for (const part of chunk.parts) appendPart(artifact.parts, part);
  if (chunk.metadata !== undefined) artifact.metadata = merge(artifact.metadata, chunk.metadata);
}

/**
 * Joins artifacts with the same id in order, since some agents store the chunks of an artifact separately. Returns the
 * same list if every id is unique. Artifacts without an id stay separate.
 */
export function joinRepeats(artifacts: Artifact[]): Artifact[] {
  const ids = artifacts.map(({ artifactId }) => artifactId).filter((id) => id !== "");
  if (new Set(ids).size === ids.length) return artifacts;
  const result: Artifact[] = [];
  const byId = new Map<string, Artifact>();
  for (const chunk of artifacts) {
    const earlier = byId.get(chunk.artifactId);
    if (earlier !== undefined) {
      appendChunk(earlier, chunk);
      continue;
    }
    const copy = { ...chunk, parts: [...chunk.parts] };
    result.push(copy);
    if (chunk.artifactId !== "") byId.set(chunk.artifactId, copy);
  }
  return result;
}

function appendPart(parts: Part[], part: Part): void {
  const last = parts.at(-1);
  if (
    last === undefined ||
    last.content.case !== "text" ||
    part.content.case !== "text" ||
    !continuesText(last, part)
  ) {
    parts.push(part);
    return;
  }
  if (part.content.value === "") return;
  parts[parts.length - 1] = { ...last, content: { case: "text", value: last.content.value + part.content.value } };
}

function continuesText(last: Part, part: Part): boolean {
  return (
    last.mediaType === part.mediaType &&
    last.filename === "" &&
    part.filename === "" &&
    last.metadata === undefined &&
    part.metadata === undefined
  );
}

/** Adds members to metadata; they replace those of the same name. */
export type MergeMetadata = (before: JsonObject | undefined, added: JsonObject) => JsonObject;

/** Merges into a new object, which costs as much as both have. */
export const mergeMetadata: MergeMetadata = (before, added) => ({ ...before, ...added });

/**
 * Merges into the objects that it made before, which costs as much as is added. For a fold that does not share
 * its metadata.
 */
export function mergeInPlace(): MergeMetadata {
  const ownObjects = new WeakSet<JsonObject>();
  return (before, added) => {
    if (before === undefined || !ownObjects.has(before)) {
      const metadata = mergeMetadata(before, added);
      ownObjects.add(metadata);
      return metadata;
    }
    for (const key of Object.keys(added)) setOwn(before, key, added[key] ?? null);
    return before;
  };
}
