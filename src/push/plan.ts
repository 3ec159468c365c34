import type { LogRecord } from "../core/ports.js";
import type { StreamResponse, TaskArtifactUpdateEvent } from "../protocol/model.js";
import { isStop } from "../protocol/states.js";

// Decides what is delivered to a webhook and when, record by record, from log positions alone. So it can be computed
// again from the log at any time, and nothing of the task has to be kept.

/** An artifact or a part of it: the chunks with this id among the records `first` to `last`. */
export interface ChunkRun {
  readonly artifactId: string;
  readonly first: number;
  readonly last: number;
}

/** What to send: an event as it is, or one that joins a run of chunks. */
export type Due =
  | { readonly kind: "event"; readonly event: StreamResponse }
  | { readonly kind: "chunks"; readonly run: ChunkRun };

/** Receives each record of a task's log once, in order, and returns what to send now. */
export type Plan = (record: LogRecord) => readonly Due[];

const nothing: readonly Due[] = [];

/** Sends each event of the task, including chunks. */
export const planEvents: Plan = (record) =>
  record.kind === "event" ? [{ kind: "event", event: record.event }] : nothing;

/**
 * Sends each status, and each artifact as a whole: at its `lastChunk`; when the event after its only one does not
 * append to it; or else when it is replaced or the turn stops. An artifact that grows afterwards is sent again as a
 * whole.
 */
export function planArtifacts(): Plan {
  /** The record that starts each artifact. */
  const firsts = new Map<string, number>();
  /** The last event, if it started an artifact without completing it. */
  let single: ChunkRun | undefined;
  /** Artifacts extended since they were last sent. */
  const growing = new Map<string, ChunkRun>();

  const settle = (all: boolean): ChunkRun[] => {
    const runs = [...(all ? growing.values() : []), ...(single === undefined ? [] : [single])];
    if (all) growing.clear();
    single = undefined;
    return runs;
  };

  const append = (artifactId: string, first: number, seq: number): ChunkRun[] => {
    const runs = single?.artifactId === artifactId ? [] : settle(false);
    single = undefined;
    growing.set(artifactId, { artifactId, first, last: seq });
    return runs;
  };

  const begin = (artifactId: string, seq: number): ChunkRun[] => {
    const replaced = growing.get(artifactId);
    growing.delete(artifactId);
    const runs = [...(replaced === undefined ? [] : [replaced]), ...settle(false)];
    firsts.set(artifactId, seq);
    single = { artifactId, first: seq, last: seq };
    return runs;
  };

  const end = (artifactId: string): ChunkRun[] => {
    const run = growing.get(artifactId);
    growing.delete(artifactId);
    return run === undefined ? settle(false) : [run];
  };

  const seeArtifact = (seq: number, event: TaskArtifactUpdateEvent): readonly Due[] => {
    const id = event.artifact?.artifactId ?? "";
    const first = event.append ? firsts.get(id) : undefined;
    const runs = first === undefined ? begin(id, seq) : append(id, first, seq);
    if (event.lastChunk) runs.push(...end(id));
    return runs.length === 0 ? nothing : runs.map(chunksDue);
  };

  return (record) => {
    if (record.kind === "turnEnded") return settle(true).map(chunksDue);
    if (record.kind !== "event") return nothing;
    const { payload } = record.event;
    if (payload.case === "artifactUpdate") return seeArtifact(record.seq, payload.value);
    const state = payload.case === "statusUpdate" ? payload.value.status?.state : undefined;
    const runs = settle(state !== undefined && isStop(state));
    return [...runs.map(chunksDue), { kind: "event", event: record.event }];
  };
}

const chunksDue = (run: ChunkRun): Due => ({ kind: "chunks", run });
