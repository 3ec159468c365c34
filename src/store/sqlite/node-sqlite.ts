import { isBuiltin } from "node:module";
import { StoreError } from "../sql/store-error.js";

/** Throws a sentence where Node has no `node:sqlite`. Does not load it. */
export function requireSqlite(): void {
  if (isBuiltin("node:sqlite")) return;
  const message = `trivium/sqlite needs node:sqlite, which Node has from 22.13 on: this is Node ${process.versions.node}`;
  throw new StoreError("unusable", message);
}

/** Loaded when a file is opened, so that the code can be imported where Node has no SQLite; the error comes with the call. */
export function loadSqlite(): typeof import("node:sqlite") {
  requireSqlite();
  return process.getBuiltinModule("node:sqlite");
}
