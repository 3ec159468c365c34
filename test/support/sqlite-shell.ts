import { execFileSync, spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { owned } from "./owned.js";

/** Whether the shell of SQLite is installed. Required in CI. */
export const hasSqliteShell = findShell();

if (!hasSqliteShell) {
  const line = "no shell of SQLite: its tests are skipped (test/sqlite/setup.sh installs sqlite3)";
  if (process.env["CI"] === "true") throw new Error(line);
  process.stderr.write(`${line}\n`);
}

/** Feeds a script to `sqlite3 FILE`, as a person would, without the settings of this user. Returns what the shell prints to stderr. */
export function runInShell(path: string, script: string): Promise<string> {
  const env = { ...process.env, HOME: "/nonexistent" };
  const child = owned(spawn("sqlite3", [path], { env, stdio: ["pipe", "ignore", "pipe"] }));
  child.stdin?.end(script);
  return text(child.stderr);
}

function findShell(): boolean {
  try {
    execFileSync("sqlite3", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
