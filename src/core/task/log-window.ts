import { monotonic } from "../../protocol/async/clock.js";
import type { LiveTaskDeps } from "./live-task-deps.js";
import type { Write } from "./write.js";

/** How far back a log is kept for readers who come back, whatever its size. */
const windowMs = 600_000;
/** Snapshots closer to each other count as one. */
const markMs = 1000;

interface Mark {
  /** Number of a snapshot. */
  seq: number;
  /** When it was written, and the bytes of the log until then. */
  readonly at: number;
  bytes: number;
}

/** What the window needs of its task. */
interface WindowedTask {
  readonly id: string;
  readonly key: number | undefined;
  /** Number of the last stored record. */
  readonly stored: number;
  /** Number of the record with the message that started the turn. */
  readonly messageSeq: number;
}

/** Drops the part of a running task's log that a snapshot covers, beyond `logWindowBytes` and ten minutes. */
export class LogWindow {
  readonly #deps: Pick<LiveTaskDeps, "clock" | "limits" | "logger" | "store">;
  readonly #marks: Mark[] = [];
  #bytes = 0;
  #turnSeq = 0;

  constructor(deps: Pick<LiveTaskDeps, "clock" | "limits" | "logger" | "store">) {
    this.#deps = deps;
  }

  /** Counts a write that was stored. One with a snapshot may let older records go. */
  wrote({ id, key, stored, messageSeq }: WindowedTask, { records, bytes, snapshot, end }: Write["body"]): void {
    this.#bytes += bytes;
    this.#turnSeq = records.findLast(({ kind }) => kind === "turnStarted")?.seq ?? this.#turnSeq;
    if (snapshot === undefined || end !== undefined || key === undefined) return;
    const upTo = this.#snapped(stored);
    if (upTo === undefined) return;
    const { logger, store } = this.#deps;
    // A restart reads how the turn began. What could not be dropped is dropped with the next snapshot.
    store.compact(key, upTo, [this.#turnSeq, messageSeq]).catch((error: unknown) => {
      logger.debug({ taskId: id, err: error }, "the log of a task could not be shortened");
    });
  }

  // The number of the newest snapshot that is old enough and covers enough of the log.
  #snapped(seq: number): number | undefined {
    const { clock, limits } = this.#deps;
    const now = monotonic(clock);
    const last = this.#marks.at(-1);
    const bytes = this.#bytes;
    if (last !== undefined && now - last.at < markMs) Object.assign(last, { seq, bytes });
    else this.#marks.push({ seq, at: now, bytes });
    const kept = this.#marks.findIndex(
      (mark) => bytes - mark.bytes <= limits.logWindowBytes || now - mark.at < windowMs,
    );
    return this.#marks.splice(0, kept).at(-1)?.seq;
  }
}
