import { isBuiltin } from "node:module";
import { StoreError } from "../sql/store-error.js";

/** Throws a readable error where Node has no `node:sqlite`, without loading it. */
export function requireSqlite(): void {
  if (isBuiltin("node:sqlite")) return;
  const message = `trivium/sqlite needs node:sqlite, which Node has from 22.13 on: this is Node ${process.versions.node}`;
  throw new StoreError("unusable", message);
}

/** Loaded when a file is opened, so that importing this code works without SQLite; the call fails instead. */
export function loadSqlite(): typeof import("node:sqlite") {
  requireSqlite();
  return process.getBuiltinModule("node:sqlite");
}
