import { type ChildProcess, spawn } from "node:child_process";
import { isAbsolute, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { printNote } from "../print.js";
import { FileChanges } from "./file-changes.js";

/** Set for the process that is restarted. */
export const watchedVariable = "TRIVIUM_WATCHED";

/** Default store while watching: tasks persist across restarts, and streams resume. */
export const watchedStore = ".trivium/tasks.db";

/** How long a restart waits for turns, in milliseconds. Longer turns run again if the agent is restartable. */
export const watchedDrainMs = 1_000;

/** Exit code of a command with wrong arguments, which no change of a file mends. */
const wrongUsage = 2;

/** Runs the same command in a child process, and restarts it when a file that it has loaded changes. */
export async function runWatched({ args: [file] }: Command): Promise<void> {
  if (file === undefined) return;
  const changes = new FileChanges();
  changes.add(resolve(file));
  const stopRequest = Promise.withResolvers<void>();
  let [child, isStopped]: [ServerRun | undefined, boolean] = [undefined, false];
  // The child gets SIGINT from the terminal as well. A second SIGINT would end it at once.
  const stop = (): void => {
    isStopped = true;
    child?.process.kill("SIGTERM");
    stopRequest.resolve();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
  for (;;) {
    const change = changes.next();
    child = start(changes);
    const code = await Promise.race([child.exitCode, change.then(() => undefined)]);
    const isWrong = code === wrongUsage;
    if (code !== undefined && !isStopped && !isWrong) printNote(`ended with ${code}: starts again when a file changes`);
    if (!isWrong) await Promise.race([change, stopRequest.promise]);
    if (isWrong || isStopped) break;
    printNote(`${relative("", await change)} has changed: restarting`);
    child.process.kill("SIGTERM");
    await child.exitCode;
  }
  process.exitCode = await child.exitCode;
  changes.close();
}

/** Ends the child process when the watching process is gone. */
export function endWithWatcher(): void {
  if (process.env[watchedVariable] !== undefined)
    process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
}

interface ServerRun {
  readonly process: ChildProcess;
  /** Resolves with the exit code. */
  readonly exitCode: Promise<number>;
}

/** Starts the command without `--watch`. Node reports the files that it loads, as for its own `--watch`. */
function start(changes: FileChanges): ServerRun {
  const args = process.argv.slice(1).filter((argument) => argument !== "--watch");
  const child = spawn(process.execPath, [...process.execArgv, ...args], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, [watchedVariable]: "1", WATCH_REPORT_DEPENDENCIES: "1" },
  });
  child.on("message", (message) => {
    for (const file of loadedFiles(message)) changes.add(file);
  });
  return {
    process: child,
    exitCode: new Promise((end) => child.once("exit", (code) => end(code ?? 1))),
  };
}

/** The loaded files in a message of Node, without those of packages. Tried with Node 22 and 24. */
function loadedFiles(message: unknown): readonly string[] {
  const { "watch:import": urls, "watch:require": paths } = Object(message) as Readonly<Record<string, unknown>>;
  const importedFiles = textsIn(urls).filter((url) => url.startsWith("file:"));
  // Node's own modules are no absolute paths.
  const requiredFiles = textsIn(paths).filter((path) => isAbsolute(path));
  const files = [...importedFiles.map((url) => fileURLToPath(url)), ...requiredFiles];
  return files.filter((file) => !/[\\/]node_modules[\\/]/.test(file));
}

function textsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
}
