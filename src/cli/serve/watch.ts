import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, type FSWatcher, watch } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { noop } from "../../protocol/async/noop.js";
import { type EndSignal, endSignals, onEndSignal } from "../../server/end-signals.js";
import { exitCodes } from "../exit-codes.js";
import { printNote } from "../print.js";
import { closingTimeIn, unresponsiveMs, watchedVariable } from "./watched.js";

// The watching process restarts the serving one. The serving process runs code under development, so it may never return to
// its event loop, at the start or in a call. It gets SIGTERM, and reports how long it needs to close. If it does not report,
// or takes longer, it gets SIGKILL. A second signal to the watching process ends both at once.

/** Runs the same command in a child process, and restarts it when a file that it has loaded changes. */
export async function runWatched({ args: [file] }: Command): Promise<void> {
  if (file === undefined) return;
  const changes = new FileChanges();
  changes.add(resolve(file));
  const stopRequest = Promise.withResolvers<void>();
  let [child, stopSignal]: [ServerRun | undefined, EndSignal | undefined] = [undefined, undefined];
  const isStopped = (): boolean => stopSignal !== undefined;
  onEndSignal(
    (signal) => {
      stopSignal = signal;
      void child?.end();
      stopRequest.resolve();
    },
    (signal) => {
      child?.process.kill("SIGKILL");
      process.exit(endSignals[signal]);
    },
  );
  for (;;) {
    const change = changes.next();
    child = start(changes);
    const ending = await Promise.race([child.ending, change.then(() => undefined)]);
    // Changing a file does not fix wrong arguments.
    const isWrong = ending?.code === exitCodes.wrongUsage;
    if (ending !== undefined && !isStopped() && !isWrong) {
      printNote(`ended with ${ending.code ?? ending.signal}: starts again when a file changes`);
    }
    if (!isWrong) await Promise.race([change, stopRequest.promise]);
    if (isWrong || isStopped()) break;
    printNote(`${relative("", await change)} has changed: restarting`);
    await child.end();
    if (isStopped()) break;
  }
  process.exitCode = chooseExitCode(await child.ending, stopSignal);
  changes.close();
}

/** The exit code for the last process: its own, or the one of the signal that ended it. */
function chooseExitCode({ code, isKilled }: Ending, stopSignal: EndSignal | undefined): number {
  if (code !== null) return code;
  return isKilled || stopSignal === undefined ? exitCodes.failure : endSignals[stopSignal];
}

/** How the serving process has ended. */
interface Ending {
  /** `null` if a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Whether the watching process killed it. */
  readonly isKilled: boolean;
}

interface ServerRun {
  readonly process: ChildProcess;
  readonly ending: Promise<Ending>;
  /** Asks the process to close, and kills it if it does not. Resolves when it has ended. */
  end(): Promise<Ending>;
}

/** Starts the command without `--watch`. Node reports the files that it loads, as for its own `--watch`. */
function start(changes: FileChanges): ServerRun {
  const args = process.argv.slice(1).filter((argument) => argument !== "--watch");
  const child = spawn(process.execPath, [...process.execArgv, ...args], {
    // The pipe closes when this process ends, in whatever way.
    stdio: ["inherit", "inherit", "inherit", "ipc", "pipe"],
    env: { ...process.env, [watchedVariable]: "1", WATCH_REPORT_DEPENDENCIES: "1" },
  });
  let [killTimer, isKilled]: [NodeJS.Timeout | undefined, boolean] = [undefined, false];
  const killAfter = (ms: number): void => {
    clearTimeout(killTimer);
    killTimer = setTimeout(() => {
      isKilled = child.kill("SIGKILL");
      printNote(`did not end within ${ms / 1000} s: killed`);
    }, ms);
  };
  child.on("message", (message) => {
    for (const file of loadedFiles(message)) changes.add(file);
    const closingMs = closingTimeIn(message);
    if (closingMs !== undefined) killAfter(closingMs);
  });
  const ending = new Promise<Ending>((resolve) => {
    child.once("exit", (code, signal) => {
      clearTimeout(killTimer);
      resolve({ code, signal, isKilled });
    });
  });
  const end = (): Promise<Ending> => {
    // An earlier call may have asked already.
    if (killTimer === undefined && child.exitCode === null && child.signalCode === null) {
      killAfter(unresponsiveMs);
      child.kill("SIGTERM");
    }
    return ending;
  };
  return { process: child, ending, end };
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

/** Waits for changes of files. It watches their folders: a watch of a file ends when an editor replaces the file. */
class FileChanges {
  readonly #files = new Set<string>();
  readonly #folders = new Map<string, FSWatcher>();
  #next = Promise.withResolvers<string>();

  add(file: string): void {
    this.#files.add(file);
    const folder = dirname(file);
    if (this.#folders.has(folder) || !existsSync(folder)) return;
    const watcher = watch(folder, (_, name) => {
      if (name !== null && this.#files.has(join(folder, name))) this.#next.resolve(join(folder, name));
    });
    // A folder that is removed has no more changes.
    watcher.on("error", noop);
    this.#folders.set(folder, watcher);
  }

  /** The first file that changes from now on. */
  next(): Promise<string> {
    this.#next = Promise.withResolvers<string>();
    return this.#next.promise;
  }

  close(): void {
    for (const watcher of this.#folders.values()) watcher.close();
  }
}
