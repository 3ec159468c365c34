/** The little of it that is used here. */
declare module "better-sqlite3" {
  import type { SqliteDatabase } from "kysely";

  export default class Database implements SqliteDatabase {
    constructor(file: string);
    pragma(text: string): unknown;
    prepare: SqliteDatabase["prepare"];
    close(): void;
  }
}
