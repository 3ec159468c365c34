import { execFile, execFileSync } from "node:child_process";

/** Whether the shell of SQLite is installed. Required in CI. */
export const hasSqliteShell = findShell();

if (!hasSqliteShell) {
  const line = "no shell of SQLite: its tests are skipped (test/sqlite/setup.sh installs sqlite3)";
  if (process.env["CI"] === "true") throw new Error(line);
  process.stderr.write(`${line}\n`);
}

/** Feeds a script to `sqlite3 FILE`, as a person would, without the settings of this user. Returns what the shell prints to stderr. */
export function runInShell(path: string, script: string): Promise<string> {
  return new Promise((resolve) => {
    // The shell ends with 1 after an error, which is no reason to fail here.
    const env = { ...process.env, HOME: "/nonexistent" };
    const child = execFile("sqlite3", [path], { env }, (_error, _stdout, stderr) => resolve(stderr));
    child.stdin?.end(script);
  });
}

function findShell(): boolean {
  try {
    execFileSync("sqlite3", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
