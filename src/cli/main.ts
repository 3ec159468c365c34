#!/usr/bin/env node
import module from "node:module";
import { cacheFolder } from "./cache-folder.js";
import { packageVersion } from "./package-version.js";

// Loads no more than this for its version; the commands' code is compiled once, and read from a cache from then on.

const [first, ...others] = process.argv.slice(2);
if ((first === "--version" || first === "-V") && others.length === 0) process.stdout.write(`${packageVersion()}\n`);
else {
  // Not in every runtime, and without effect where the folder cannot be written.
  module.enableCompileCache?.(cacheFolder());
  await (await import("./run.js")).run();
}
