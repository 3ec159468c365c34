#!/usr/bin/env node
import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { packageVersion } from "./package-version.js";

// `--version` loads no more than this file. The code of the commands is compiled once and cached.

const [first, ...others] = process.argv.slice(2);
if ((first === "--version" || first === "-V") && others.length === 0) process.stdout.write(`${packageVersion()}\n`);
else {
  // Not every runtime has it. Without effect if the folder cannot be written.
  module.enableCompileCache?.(cacheFolder(process));
  await (await import("./run.js")).run();
}

/**
 * The folder of compiled code. On Linux it is in the user's own cache: code is run from it, and the temporary folder is
 * shared between users. `undefined` leaves it to Node, also if the environment names a folder.
 */
function cacheFolder({ platform, env }: NodeJS.Process): string | undefined {
  if (platform !== "linux" || env["NODE_COMPILE_CACHE"] !== undefined) return undefined;
  return join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "trivium");
}
