import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Command } from "commander";

/** Set for the process that is restarted. */
export const watchedVariable = "TRIVIUM_WATCHED";

/** Keeps tasks across the restarts, so that streams resume, unless the agent has a store. */
export const watchedStore = ".trivium/tasks.db";

/** How long a restart waits for turns, in milliseconds: a short one ends, and a long one runs again if it may. */
export const watchedDrainMs = 1_000;

/** Runs the same command in a process that Node restarts when a file changes that it has loaded. */
export async function runWatched({ args }: Command): Promise<void> {
  const [main = "", ...given] = process.argv.slice(1);
  const rest = given.filter((argument) => argument !== "--watch");
  if (args.length === 0) return;
  const child = spawn(process.execPath, ["--watch", "--watch-preserve-output", main, ...rest], {
    stdio: "inherit",
    env: { ...process.env, [watchedVariable]: "1" },
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  const [code] = await once(child, "exit");
  process.exitCode = code ?? 0;
}
