/** How far back a log is kept for readers who come back, whatever its size. */
const windowMs = 600_000;
/** Snapshots closer to each other count as one. */
const markMs = 1000;

interface Mark {
  /** Number of a snapshot. */
  seq: number;
  /** When it was written, and the bytes of the log until then. */
  at: number;
  bytes: number;
}

/** How much of the log of a running task is kept behind its snapshot. */
export class LogWindow {
  readonly #marks: Mark[] = [];
  #bytes = 0;

  /** Counts a write to the log. */
  written(bytes: number): void {
    this.#bytes += bytes;
  }

  /**
   * Notes a snapshot. Returns the number up to which the log may be dropped: more than `maxBytes` follow it, and it is
   * ten minutes old.
   */
  snapped(seq: number, now: number, maxBytes: number): number | undefined {
    const last = this.#marks.at(-1);
    const bytes = this.#bytes;
    if (last !== undefined && now - last.at < markMs) Object.assign(last, { seq, bytes });
    else this.#marks.push({ seq, at: now, bytes });
    const kept = this.#marks.findIndex((mark) => bytes - mark.bytes <= maxBytes || now - mark.at < windowMs);
    return this.#marks.splice(0, kept).at(-1)?.seq;
  }
}
