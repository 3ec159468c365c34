import { monotonic } from "../../protocol/async/clock.js";
import type { WriteBody } from "../ports.js";
import type { LiveTask, LiveTaskDeps } from "./live-task.js";

// How much of a running task's log is kept. Each snapshot sets a mark. A mark expires once it is more than `logWindowBytes`
// behind the end and older than ten minutes, or more than four times `logWindowBytes` behind. A snapshot drops the log before
// the newest expired mark.
//
//   │ dropped │ up to 4 × logWindowBytes, for ten minutes │ logWindowBytes │ end
//
// The records with which the turn and its message began stay, for a restart.

/** For how long readers that resume find more than `logWindowBytes`. */
const windowMs = 600_000;
/** How many times `logWindowBytes` they find at most. Without this limit a fast task could fill the store. */
const windowFactor = 4;
/** Snapshots that are closer than this, in time and in bytes as a part of the window, count as one. */
const markMs = 1000;
const markPart = 1 / 8;

interface Mark {
  /** Number of a snapshot. */
  seq: number;
  /** When it was written, and the bytes of the log until then. */
  readonly at: number;
  bytes: number;
}

/**
 * Drops the part of a running task's log that a snapshot covers: what is beyond `logWindowBytes` and older than ten
 * minutes, and what is beyond four times `logWindowBytes`.
 */
export class LogWindow {
  readonly #deps: LiveTaskDeps;
  readonly #marks: Mark[] = [];
  #bytes = 0;
  #turnSeq = 0;

  constructor(deps: LiveTaskDeps) {
    this.#deps = deps;
  }

  /** Counts a write that was stored. One with a snapshot may let older records go. */
  count({ id, key, storedSeq, messageSeq }: LiveTask, { records, bytes, snapshot, end }: WriteBody): void {
    this.#bytes += bytes;
    this.#turnSeq = records.findLast(({ kind }) => kind === "turnStarted")?.seq ?? this.#turnSeq;
    if (snapshot === undefined || end !== undefined || key === undefined) return;
    const upTo = this.#mark(storedSeq);
    if (upTo === undefined) return;
    const { logger, store } = this.#deps;
    // A restart reads how the turn began. If this fails, the next snapshot drops the records.
    store.compact(key, upTo, [this.#turnSeq, messageSeq]).catch((error: unknown) => {
      logger.debug({ taskId: id, err: error }, "the log of a task could not be shortened");
    });
  }

  // The number of the newest snapshot that is old enough and covers enough of the log.
  #mark(seq: number): number | undefined {
    const { clock, limits } = this.#deps;
    const now = monotonic(clock);
    const last = this.#marks.at(-1);
    const bytes = this.#bytes;
    const { logWindowBytes } = limits;
    const before = this.#marks.at(-2)?.bytes ?? 0;
    const isNear = last !== undefined && now - last.at < markMs && bytes - before < logWindowBytes * markPart;
    if (isNear) Object.assign(last, { seq, bytes });
    else this.#marks.push({ seq, at: now, bytes });
    const isKept = (mark: Mark): boolean => {
      const behind = bytes - mark.bytes;
      return behind <= logWindowBytes || (behind <= windowFactor * logWindowBytes && now - mark.at < windowMs);
    };
    const firstKept = this.#marks.findIndex(isKept);
    return this.#marks.splice(0, firstKept).at(-1)?.seq;
  }
}
