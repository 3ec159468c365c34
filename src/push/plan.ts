import type { LogRecord } from "../core/ports.js";
import type { StreamResponse, TaskArtifactUpdateEvent } from "../protocol/model.js";
import { endsBlockingSend } from "../protocol/states.js";

// Decides what is delivered to a webhook and when, record by record, from log positions alone. So a plan can be computed
// again from the log at any time, and keeps nothing of the task.

/** An artifact or a part of it: the chunks with this id among the records `first` to `last`. */
export interface ChunkRun {
  readonly artifactId: string;
  readonly first: number;
  readonly last: number;
}

/** A due delivery: an event as it is, or one that joins a run of chunks. */
export type Due =
  | { readonly kind: "event"; readonly event: StreamResponse }
  | { readonly kind: "chunks"; readonly run: ChunkRun };

/** Receives each record of a task's log once, in order, and returns what to send now. */
export type Plan = (record: LogRecord) => readonly Due[];

const noEvents: readonly Due[] = [];

/** Sends each event of the task, including chunks. */
export const planEvents: Plan = (record) =>
  record.kind === "event" ? [{ kind: "event", event: record.event }] : noEvents;

/**
 * Sends each status, and each artifact as a whole. An artifact is sent at its `lastChunk`; else after its only event,
 * when the next event does not append to it; else when it is replaced or the turn stops. One that grows afterwards is
 * sent again as a whole.
 */
export function planArtifacts(): Plan {
  /** The record that starts each artifact. */
  const firsts = new Map<string, number>();
  /** The last event, if it started an artifact without completing it. */
  let single: ChunkRun | undefined;
  /** Artifacts extended since they were last sent. */
  const openRuns = new Map<string, ChunkRun>();

  const settle = (all: boolean): ChunkRun[] => {
    const runs = [...(all ? openRuns.values() : []), ...(single === undefined ? [] : [single])];
    if (all) openRuns.clear();
    single = undefined;
    return runs;
  };

  const append = (artifactId: string, first: number, seq: number): ChunkRun[] => {
    const runs = single?.artifactId === artifactId ? [] : settle(false);
    single = undefined;
    openRuns.set(artifactId, { artifactId, first, last: seq });
    return runs;
  };

  const begin = (artifactId: string, seq: number): ChunkRun[] => {
    const openRun = openRuns.get(artifactId);
    openRuns.delete(artifactId);
    const runs = [...(openRun === undefined ? [] : [openRun]), ...settle(false)];
    firsts.set(artifactId, seq);
    single = { artifactId, first: seq, last: seq };
    return runs;
  };

  const end = (artifactId: string): ChunkRun[] => {
    const run = openRuns.get(artifactId);
    openRuns.delete(artifactId);
    return run === undefined ? settle(false) : [run];
  };

  const seeArtifact = (seq: number, event: TaskArtifactUpdateEvent): readonly Due[] => {
    const id = event.artifact?.artifactId ?? "";
    const first = event.append ? firsts.get(id) : undefined;
    const runs = first === undefined ? begin(id, seq) : append(id, first, seq);
    if (event.lastChunk) runs.push(...end(id));
    return runs.length === 0 ? noEvents : runs.map(chunksDue);
  };

  return (record) => {
    if (record.kind === "turnEnded") return settle(true).map(chunksDue);
    if (record.kind !== "event") return noEvents;
    const { payload } = record.event;
    if (payload.case === "artifactUpdate") return seeArtifact(record.seq, payload.value);
    const state = payload.case === "statusUpdate" ? payload.value.status?.state : undefined;
    const runs = settle(state !== undefined && endsBlockingSend(state));
    return [...runs.map(chunksDue), { kind: "event", event: record.event }];
  };
}

const chunksDue = (run: ChunkRun): Due => ({ kind: "chunks", run });
