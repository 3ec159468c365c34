import type { LogRecord, TaskStore } from "../core/ports.js";
import { appendChunk } from "../protocol/artifact-chunks.js";
import type { StreamResponse, TaskArtifactUpdateEvent } from "../protocol/model.js";
import type { ChunkRun } from "./plan.js";

/** Number of records read at a time. */
export const pageRecords = 64;

/**
 * Reads a run of chunks and joins them into one event that replaces the artifact sent before, so that a duplicate does
 * no harm. `undefined` when the log no longer has them.
 */
export async function joinChunks(tasks: TaskStore, key: number, run: ChunkRun): Promise<StreamResponse | undefined> {
  let only: TaskArtifactUpdateEvent | undefined;
  let result: TaskArtifactUpdateEvent | undefined;
  let after = run.first - 1;
  while (after < run.last) {
    const page = await tasks.recordsAfter(key, after, Math.min(pageRecords, run.last - after));
    if (page === undefined || page === "compacted" || page.records.length === 0) return undefined;
    for (const record of page.records) {
      after = record.seq;
      const chunk = chunkOf(record, run.artifactId);
      if (chunk === undefined) continue;
      result = append(result, chunk);
      // A single complete event is delivered as it is.
      only = record.seq === run.first && !chunk.append ? chunk : undefined;
    }
  }
  const value = only ?? result;
  if (value === undefined) return undefined;
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "artifactUpdate", value } };
}

function chunkOf(record: LogRecord, artifactId: string): TaskArtifactUpdateEvent | undefined {
  if (record.kind !== "event" || record.event.payload.case !== "artifactUpdate") return undefined;
  const { value } = record.event.payload;
  return value.artifact?.artifactId === artifactId ? value : undefined;
}

// Copies what `joinedWith` modifies; the rest is shared with the log.
function copyOf(chunk: TaskArtifactUpdateEvent): TaskArtifactUpdateEvent {
  const { artifact } = chunk;
  const copy = { ...chunk, append: false };
  return artifact === undefined ? copy : { ...copy, artifact: { ...artifact, parts: [...artifact.parts] } };
}

function append(event: TaskArtifactUpdateEvent | undefined, chunk: TaskArtifactUpdateEvent): TaskArtifactUpdateEvent {
  if (event === undefined) return copyOf(chunk);
  const { artifact, lastChunk, metadata } = chunk;
  if (event.artifact !== undefined && artifact !== undefined) appendChunk(event.artifact, artifact);
  if (metadata !== undefined) event.metadata = { ...event.metadata, ...metadata };
  event.lastChunk = lastChunk;
  return event;
}
