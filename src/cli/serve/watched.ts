import { Worker } from "node:worker_threads";
import { noop } from "../../protocol/async/noop.js";

// The process that `--watch` restarts. It tells the watching process how long it needs to close, and ends when that one is
// gone: in order while its event loop runs, otherwise by a thread of its own.

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

/** How long the process may take to say that it closes, in milliseconds. Then it is killed. */
export const unresponsiveMs = 3_000;

/** The pipe that the watching process holds open. */
const pipe = 4;

const closingField = "trivium:closingMs";

/** The time to close in a message of the watched process, in milliseconds. */
export function closingTimeIn(message: unknown): number | undefined {
  const { [closingField]: ms } = Object(message) as Readonly<Record<string, unknown>>;
  return typeof ms === "number" ? ms : undefined;
}

/** A process that is restarted, seen from inside. */
export interface WatchedProcess {
  /** Says that this process closes and how long that may take, in milliseconds. It is killed when it takes longer. */
  reportClosing(withinMs: number): void;
}

/**
 * Ends this process when the watching one is gone. To be called before code of the user is loaded, which may never return
 * to the event loop.
 */
export function endWithWatcher(): WatchedProcess {
  const guard = new Worker(guardCode, { eval: true, execArgv: [], workerData: { pipe, unresponsiveMs } });
  guard.unref();
  // Without a thread, the process still ends in order.
  guard.on("error", noop);
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  // An agent that could not be loaded ends the process.
  process.channel?.unref();
  return {
    reportClosing(ms) {
      guard.postMessage(ms);
      if (process.connected) process.send?.({ [closingField]: ms });
    },
  };
}

/**
 * Runs in a thread. It kills the process when the pipe has ended and the process does not close, or when it takes too long to.
 * The signal needs no event loop.
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
