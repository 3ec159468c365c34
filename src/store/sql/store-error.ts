import { A2AError, readErrorMessage } from "../../protocol/errors.js";
import { isObject } from "../../protocol/kinds.js";

/**
 * Why a database did not answer. `"incomplete"`: SQL that was run by hand has created only a part of the schema. `"moved"`: the
 * SQLite file was removed, replaced or overwritten while it was in use; the process writes nothing until it restarts.
 */
export type StoreFailure =
  | "full"
  | "readOnly"
  | "forbidden"
  | "locked"
  | "damaged"
  | "unusable"
  | "unreachable"
  | "outOfMemory"
  | "newerFormat"
  | "incomplete"
  | "moved"
  | "other";

/**
 * A failed call of the database. Its message is for operators; callers are asked to retry. `cause` is the error of the
 * driver.
 *
 * @example
 * ```ts
 * try {
 *   await store.open?.();
 * } catch (error) {
 *   if (!(error instanceof StoreError)) throw error;
 *   console.error(error.failure, error.message);
 * }
 * ```
 */
export class StoreError extends Error {
  /** Why the database did not answer. */
  readonly failure: StoreFailure;

  constructor(failure: StoreFailure, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "StoreError";
    this.failure = failure;
  }
}

/** Sentences for failures that a driver reports. */
const sentences: Readonly<Partial<Record<StoreFailure, string>>> = {
  full: "the database is full",
  readOnly: "the database is read-only",
  forbidden: "the role has no right to do this in the database",
  locked: "the database is locked by another connection",
  damaged: "the database is damaged or not a database",
  unusable: "the database cannot be used",
  unreachable: "the database cannot be reached",
  outOfMemory: "the database is out of memory",
};

/** By the primary result code of SQLite. */
const bySqlite: Readonly<Record<number, StoreFailure>> = {
  3: "unusable",
  5: "locked",
  6: "locked",
  7: "outOfMemory",
  8: "readOnly",
  10: "unusable",
  11: "damaged",
  13: "full",
  14: "unusable",
  26: "damaged",
};

/** By the prefix of the code from PostgreSQL or its connection. */
const byCode: readonly (readonly [RegExp, StoreFailure])[] = [
  [/^53100/, "full"],
  [/^53200/, "outOfMemory"],
  [/^25006/, "readOnly"],
  [/^42501/, "forbidden"],
  [/^(?:40001|40P01|55P03|57014)/, "locked"],
  [/^XX00[12]/, "damaged"],
  [/^(?:08|57P0|53300|28|3D)/, "unreachable"],
  [/^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_|EHOST|ENET)/, "unreachable"],
  [/^(?:58|EIO)/, "unusable"],
  [/^(?:ENOSPC|EDQUOT)/, "full"],
  [/^EROFS/, "readOnly"],
  [/^(?:EACCES|EPERM|ENOTDIR|EISDIR)/, "unusable"],
];

// The PostgreSQL client reports a lost connection only by these messages.
const lostConnection =
  /connection terminated|connection timeout|connection error and is not queryable|timeout exceeded when trying to connect/i;

/** Converts any database error into one that says what is wrong. Errors already converted are returned unchanged. */
export function storeErrorFrom(error: unknown): A2AError | StoreError {
  if (error instanceof A2AError || error instanceof StoreError) return error;
  const failure = classifyFailure(error);
  const detail = readErrorMessage(error);
  const sentence = sentences[failure] ?? "the database failed";
  return new StoreError(failure, `${sentence}: ${detail}`, { cause: error });
}

function classifyFailure(error: unknown): StoreFailure {
  if (!isObject(error)) return "other";
  // An extended code of SQLite holds the primary one in its lowest byte.
  if ("errcode" in error && typeof error.errcode === "number") return bySqlite[error.errcode & 0xff] ?? "other";
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const match = byCode.find(([pattern]) => pattern.test(code));
  if (match !== undefined) return match[1];
  return error instanceof Error && lostConnection.test(error.message) ? "unreachable" : "other";
}
