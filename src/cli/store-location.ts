import type { Store } from "../core/ports.js";
import { noop } from "../protocol/async/noop.js";
import { readErrorMessage } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import type { StoreError, StoreFailure } from "../store/sql/store-error.js";

/** Where the command line keeps tasks: in memory, in a SQLite file, or in a PostgreSQL database. */
export type StoreLocation = { readonly kind: "memory" } | DatabaseLocation;

export type DatabaseLocation = { readonly kind: "sqlite"; readonly path: string } | PostgresLocation;

export interface PostgresLocation {
  readonly kind: "postgres";
  readonly url: string;
}

/** Parses `memory`, a file path, or `postgres://…`. Throws a `TypeError` that shows no password. */
export function storeLocation(text: string): StoreLocation {
  if (text === "memory") return { kind: "memory" };
  const scheme = /^([a-z][a-z\d+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined && text !== "") return { kind: "sqlite", path: text };
  const isPostgres = scheme === "postgres" || scheme === "postgresql";
  if (isPostgres && URL.canParse(text)) return { kind: "postgres", url: text };
  throw new TypeError(
    isPostgres
      ? "the URL of the store cannot be read: it takes the form postgres://user:password@host:port/database"
      : "a store is memory, the path of a file, or postgres://…",
  );
}

/** Parses the location of a database. Throws a `TypeError` for memory too. */
export function databaseLocation(text: string): DatabaseLocation {
  const location = storeLocation(text);
  if (location.kind !== "memory") return location;
  throw new TypeError("memory is not a database: name a file, or postgres://…");
}

/** The location as text, without a password. */
export function locationText(location: StoreLocation): string {
  if (location.kind === "memory") return "memory";
  if (location.kind === "sqlite") return location.path;
  const url = new URL(location.url);
  url.password = "";
  // The driver reads secrets from the query too.
  url.search = "";
  return url.href;
}

/**
 * Opens the store of a location; `undefined` for memory. Rejects with one sentence when it cannot be used. The caller
 * must close it.
 */
export async function openStorage(location: StoreLocation, logger: Logger): Promise<Store | undefined> {
  if (location.kind === "memory") return undefined;
  try {
    const storage = await createStorage(location, logger);
    try {
      await storage.open?.();
      return storage;
    } catch (error) {
      // Closing a store that failed to open may fail again.
      await storage.close().catch(noop);
      throw error;
    }
  } catch (error) {
    throw unusableStoreError(location, error);
  }
}

/** A store that cannot be used. */
export class UnusableStoreError extends Error {
  /** The kind of the failure, if the store knows it. */
  readonly failure: StoreFailure | undefined;

  constructor(message: string, failure: StoreFailure | undefined) {
    super(message);
    this.failure = failure;
  }
}

/** The error for a location that cannot be used, with the reason, in one sentence. */
export function unusableStoreError(location: DatabaseLocation, error: unknown): UnusableStoreError {
  const place = locationText(location);
  const reason = readErrorMessage(error);
  // File errors already name the file.
  const problem = reason.startsWith(`${place}: `) ? reason.slice(place.length + 2) : reason;
  const failure = isStoreError(error) ? error.failure : undefined;
  return new UnusableStoreError(`the store ${place} cannot be used: ${problem}`, failure);
}

// By its name: importing the class would load the code of databases.
function isStoreError(error: unknown): error is StoreError {
  return error instanceof Error && error.name === "StoreError";
}

async function createStorage(location: DatabaseLocation, logger: Logger): Promise<Store> {
  if (location.kind === "sqlite") {
    const { sqliteStore } = await import("../store/sqlite/index.js");
    return sqliteStore({ path: location.path, logger });
  }
  const { postgresStore } = await import("../store/postgres/index.js");
  return postgresStore({ url: location.url, logger });
}
