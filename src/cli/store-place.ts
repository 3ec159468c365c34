import type { Store } from "../core/ports.js";
import { noop } from "../protocol/async/noop.js";
import type { Logger } from "../protocol/logger.js";

/** Where the command line keeps tasks: in the memory of the process, in an SQLite file, in a PostgreSQL database. */
export type StorePlace = { readonly kind: "memory" } | DatabasePlace;

export type DatabasePlace =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string };

/** Reads `memory`, the path of a file, or `postgres://…`. Throws a `TypeError` that shows no password. */
export function storePlace(text: string): StorePlace {
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

/** Reads the place of a database. Throws a `TypeError` for memory too. */
export function databasePlace(text: string): DatabasePlace {
  const place = storePlace(text);
  if (place.kind !== "memory") return place;
  throw new TypeError("memory is no database: name a file, or postgres://…");
}

/** The place in words, without a password. */
export function placeText(place: StorePlace): string {
  if (place.kind === "memory") return "memory";
  if (place.kind === "sqlite") return place.path;
  const url = new URL(place.url);
  url.password = "";
  // The driver takes secrets from there too.
  url.search = "";
  return url.href;
}

/** Opens the store of a place; nothing for memory. Rejects with one sentence when it cannot be used. Yours to close. */
export async function openStorage(place: StorePlace, logger: Logger): Promise<Store | undefined> {
  if (place.kind === "memory") return undefined;
  try {
    const storage = await storageOf(place, logger);
    try {
      await storage.open?.();
      return storage;
    } catch (error) {
      // What could not be opened may fail again.
      await storage.close().catch(noop);
      throw error;
    }
  } catch (error) {
    throw unusable(place, error);
  }
}

/** One sentence that says which place cannot be used, and why. */
export function unusable(place: DatabasePlace, error: unknown): Error {
  const shown = placeText(place);
  const reason = error instanceof Error ? error.message : String(error);
  // Who opens a file names it too.
  const said = reason.startsWith(`${shown}: `) ? reason.slice(shown.length + 2) : reason;
  return new Error(`the store ${shown} cannot be used: ${said}`);
}

// The code of a database is loaded only when it is wanted.
async function storageOf(place: DatabasePlace, logger: Logger): Promise<Store> {
  if (place.kind === "sqlite") {
    const { sqliteStore } = await import("../store/sqlite/index.js");
    return sqliteStore({ path: place.path, logger });
  }
  const { postgresStore } = await import("../store/postgres/index.js");
  return postgresStore({ url: place.url, logger });
}
