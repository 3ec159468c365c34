// Apart from the database itself, so that the main thread does not load the query builder.

/** Location and write settings of a SQLite file. */
export interface SqliteFileOptions {
  /** Path of the file; its folder is created. `":memory:"` keeps everything in memory until the store closes. */
  readonly path: string;
  /**
   * When a write is acknowledged. `"FULL"`: once it survives a process crash and a power loss, at the cost of one disk
   * flush per group of concurrent writes. `"NORMAL"`: once it survives a process crash; a power loss may lose the
   * latest writes but never corrupts the file. Default: `"FULL"`.
   */
  readonly synchronous?: "FULL" | "NORMAL" | undefined;
  /** How long a call waits for another process that writes to the file, in milliseconds. Default: 5,000. */
  readonly busyTimeoutMs?: number | undefined;
  /** Largest size of the file in bytes; above it, writes fail as on a full disk. Default: no limit. */
  readonly maxBytes?: number | undefined;
}

/** `SqliteFileOptions` with its defaults. */
export interface SqliteSettings {
  readonly path: string;
  readonly synchronous: "FULL" | "NORMAL";
  readonly busyTimeoutMs: number;
  readonly maxBytes: number | undefined;
}

export function resolveSettings(options: SqliteFileOptions): SqliteSettings {
  const { path, synchronous = "FULL", busyTimeoutMs = 5_000, maxBytes } = options;
  if (path === "") throw new TypeError('the path of the database is empty: give a file or ":memory:"');
  return { path, synchronous, busyTimeoutMs, maxBytes };
}
