import { describe, expect, it } from "vitest";
import { execute } from "../../support/owned.js";
import { sourceFlags } from "./source-process.js";

const sentence = `trivium/sqlite needs node:sqlite, which Node has from 22.13 on: this is Node ${process.versions.node}`;

/** Returns what a program prints, as JSON. */
async function outputOf(program: string, ...options: readonly string[]): Promise<unknown> {
  const flags = [...sourceFlags, ...options, "--input-type=module", "--eval", program];
  const { stdout } = await execute(process.execPath, flags);
  return JSON.parse(stdout);
}

const without = "--no-experimental-sqlite";

const sourceOf = (file: string): string => new URL(`../../../src/store/sqlite/${file}`, import.meta.url).href;

describe("a Node without SQLite", () => {
  it("a Node without SQLite imports the store, and opening one names the requirement", async () => {
    const program = `
      const { sqliteStore, StoreError } = await import("${sourceOf("index.ts")}");
      try {
        sqliteStore({ path: ":memory:" });
      } catch (error) {
        console.log(JSON.stringify([error instanceof StoreError, error.failure, error.message]));
      }`;
    expect(await outputOf(program, without)).toEqual([true, "unusable", sentence]);
  });

  it("a Node without SQLite gets the same sentence when a tool opens a file", async () => {
    const program = `
      const { openSqlite } = await import("${sourceOf("database.ts")}");
      const { resolveSettings } = await import("${sourceOf("settings.ts")}");
      try {
        openSqlite(resolveSettings({ path: ":memory:" }), Date.now);
      } catch (error) {
        console.log(JSON.stringify(error.message));
      }`;
    expect(await outputOf(program, without)).toBe(sentence);
  });
});

it("the thread that serves does not load the query builder, which takes longer than the store itself", async () => {
  const program = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ resolve: (name, context, next) => (loaded.push(name), next(name, context)) });
    await import("${sourceOf("index.ts")}");
    console.log(JSON.stringify([loaded.includes("@bufbuild/protobuf"), loaded.includes("kysely")]));`;
  expect(await outputOf(program)).toEqual([true, false]);
});
