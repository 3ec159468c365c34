import { type ChildProcess, spawn } from "node:child_process";
import { isAbsolute, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { printNote } from "../print.js";
import { FileChanges } from "./file-changes.js";

/** Set for the process that is restarted. */
export const watchedVariable = "TRIVIUM_WATCHED";

/** Keeps tasks across the restarts, so that streams resume, unless the agent has a store. */
export const watchedStore = ".trivium/tasks.db";

/** How long a restart waits for turns, in milliseconds: a short one ends, and a long one runs again if it may. */
export const watchedDrainMs = 1_000;

/** A command that cannot run with these arguments, whatever changes. */
const wrongUsage = 2;

/** Runs the same command in a process that is restarted when a file changes that it has loaded. */
export async function runWatched({ args: [file] }: Command): Promise<void> {
  if (file === undefined) return;
  const changes = new FileChanges();
  changes.add(resolve(file));
  const stopped = Promise.withResolvers<void>();
  let [child, isStopped]: [ServerRun | undefined, boolean] = [undefined, false];
  // A terminal sends its SIGINT to the child as well, for which a second one would be the end at once.
  const stop = (): void => {
    isStopped = true;
    child?.process.kill("SIGTERM");
    stopped.resolve();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
  for (;;) {
    const changed = changes.next();
    child = start(changes);
    const code = await Promise.race([child.ended, changed.then(() => undefined)]);
    const isWrong = code === wrongUsage;
    if (code !== undefined && !isStopped && !isWrong) printNote(`ended with ${code}: starts again when a file changes`);
    if (!isWrong) await Promise.race([changed, stopped.promise]);
    if (isWrong || isStopped) break;
    printNote(`${relative("", await changed)} has changed: restarting`);
    child.process.kill("SIGTERM");
    await child.ended;
  }
  process.exitCode = await child.ended;
  changes.close();
}

/** Has the process that is restarted end when the one that watches is gone. */
export function endWithWatcher(): void {
  if (process.env[watchedVariable] !== undefined)
    process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
}

interface ServerRun {
  readonly process: ChildProcess;
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
}

/** Starts the command without `--watch`. Node has it say which files it loads, as for its own `--watch`. */
function start(changes: FileChanges): ServerRun {
  const [main = "", ...given] = process.argv.slice(1);
  const rest = given.filter((argument) => argument !== "--watch");
  const child = spawn(process.execPath, [...process.execArgv, main, ...rest], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, [watchedVariable]: "1", WATCH_REPORT_DEPENDENCIES: "1" },
  });
  child.on("message", (message) => {
    for (const file of loadedFiles(message)) changes.add(file);
  });
  return {
    process: child,
    ended: new Promise((end) => child.once("exit", (code) => end(code ?? 1))),
  };
}

/** The files of a program that a message of Node names, without those of packages. Tried with Node 22 and 24. */
function loadedFiles(message: unknown): readonly string[] {
  const { "watch:import": urls, "watch:require": paths } = Object(message) as Readonly<Record<string, unknown>>;
  const imported = textsIn(urls).filter((url) => url.startsWith("file:"));
  // Modules of Node are named as well, by a word or by nothing.
  const required = textsIn(paths).filter((path) => isAbsolute(path));
  const files = [...imported.map((url) => fileURLToPath(url)), ...required];
  return files.filter((file) => !/[\\/]node_modules[\\/]/.test(file));
}

function textsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
}
