#!/usr/bin/env node
import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { packageVersion } from "./package-version.js";

// Loads no more than this for its version; the commands' code is compiled once, and read from a cache from then on.

const [first, ...others] = process.argv.slice(2);
if ((first === "--version" || first === "-V") && others.length === 0) process.stdout.write(`${packageVersion()}\n`);
else {
  // Not in every runtime, and without effect where the folder cannot be written.
  module.enableCompileCache?.(cacheFolder(process));
  await (await import("./run.js")).run();
}

/**
 * Where compiled code is kept: in the user's own cache, since code is run from it and Linux shares its temporary folder
 * between users. `undefined` leaves it to Node, also where the environment names a folder.
 */
function cacheFolder({ platform, env }: NodeJS.Process): string | undefined {
  if (platform !== "linux" || env["NODE_COMPILE_CACHE"] !== undefined) return undefined;
  return join(env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "trivium");
}
