import { Worker } from "node:worker_threads";
import { noop } from "../../protocol/async/noop.js";

// The process that `--watch` restarts. It tells the watching process how long it needs to close. It ends when the watching
// process is gone: in order while its event loop runs, otherwise a separate thread kills it.

/** Set for the process that is restarted. */
export const watchedVariable = "TRIVIUM_WATCHED";

/** Whether this process is restarted by another. */
export function isWatched(): boolean {
  return process.env[watchedVariable] !== undefined;
}

/** Default store while watching: tasks persist across restarts, and streams resume. */
export const watchedStore = ".trivium/tasks.db";

/** How long a restart waits for turns, in milliseconds. Longer turns run again if the agent is restartable. */
export const watchedDrainMs = 1_000;

/** How long the process may take to report that it closes, in milliseconds. After that it is killed. */
export const unresponsiveMs = 3_000;

/** File descriptor of the pipe that the watching process holds open. */
const pipe = 4;

const closingField = "trivium:closingMs";

/** Reads the time to close from a message of the watched process, in milliseconds. */
export function closingTimeIn(message: unknown): number | undefined {
  const { [closingField]: ms } = Object(message) as Readonly<Record<string, unknown>>;
  return typeof ms === "number" ? ms : undefined;
}

/** The restarted process, seen from inside. */
export interface WatchedProcess {
  /** Reports that this process closes, and how long that may take in milliseconds. If it takes longer, it is killed. */
  reportClosing(withinMs: number): void;
}

/**
 * Ends this process when the watching one is gone. Call it before loading the user's code, which may never return to the
 * event loop.
 */
export function endWithWatcher(): WatchedProcess {
  const guard = new Worker(guardCode, { eval: true, execArgv: [], workerData: { pipe, unresponsiveMs } });
  guard.unref();
  // Without a thread, the process still ends in order.
  guard.on("error", noop);
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  // The channel must not keep the process alive if the agent could not be loaded.
  process.channel?.unref();
  return {
    reportClosing(ms) {
      guard.postMessage(ms);
      if (process.connected) process.send?.({ [closingField]: ms });
    },
  };
}

/**
 * Runs in a thread. Kills the process when it takes too long to close, or when the pipe has ended and it does not close.
 * SIGKILL needs no event loop.
 */
const guardCode = `
const { parentPort, workerData } = require("node:worker_threads");
let timer;
const killAfter = (ms) => {
  clearTimeout(timer);
  timer = setTimeout(() => process.kill(process.pid, "SIGKILL"), ms);
};
let isClosing = false;
parentPort.on("message", (ms) => {
  isClosing = true;
  killAfter(ms);
});
const pipe = new (require("node:net").Socket)({ fd: workerData.pipe, readable: true, writable: false });
pipe.on("error", () => {});
pipe.on("close", () => isClosing || killAfter(workerData.unresponsiveMs));
pipe.resume();
`;
