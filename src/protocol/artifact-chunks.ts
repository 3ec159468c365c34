import type { Artifact, Part } from "./model.js";

/**
 * Appends a chunk to its artifact, in place (spec 4.2.2). Parts are shared with the chunk and never
 * changed; a chunk of text goes on in the text part before it, so that a stream of tokens is one part and not thousands.
 */
export function appendChunk(artifact: Artifact, chunk: Artifact): void {
  for (const part of chunk.parts) appendPart(artifact.parts, part);
  if (chunk.metadata !== undefined) artifact.metadata = { ...artifact.metadata, ...chunk.metadata };
}

/**
 * The artifacts with those of one id put together in their order: some agents keep each chunk of an artifact apart. Gives the
 * same list when each id is there once. Artifacts without an id stay apart.
 */
export function joinRepeats(artifacts: Artifact[]): Artifact[] {
  const ids = artifacts.map(({ artifactId }) => artifactId).filter((id) => id !== "");
  if (new Set(ids).size === ids.length) return artifacts;
  const joined: Artifact[] = [];
  const byId = new Map<string, Artifact>();
  for (const chunk of artifacts) {
    const known = byId.get(chunk.artifactId);
    if (known !== undefined) {
      appendChunk(known, chunk);
      continue;
    }
    const whole = { ...chunk, parts: [...chunk.parts] };
    joined.push(whole);
    if (chunk.artifactId !== "") byId.set(chunk.artifactId, whole);
  }
  return joined;
}

function appendPart(parts: Part[], part: Part): void {
  const last = parts.at(-1);
  if (last === undefined || last.content.case !== "text" || part.content.case !== "text" || !goesOn(last, part)) {
    parts.push(part);
    return;
  }
  if (part.content.value === "") return;
  parts[parts.length - 1] = { ...last, content: { case: "text", value: last.content.value + part.content.value } };
}

function goesOn(last: Part, part: Part): boolean {
  return (
    last.mediaType === part.mediaType &&
    last.filename === "" &&
    part.filename === "" &&
    last.metadata === undefined &&
    part.metadata === undefined
  );
}
