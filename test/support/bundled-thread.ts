import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import type { Plugin } from "vitest/config";

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

/**
 * Gives SQLite's thread its sources as one file, as the build does. Each store on a file starts a thread, and reading
 * hundreds of modules takes it longer than most tests: 120 ms instead of 40.
 */
export function bundledThread(): Plugin {
  return {
    name: "bundled-thread",
    enforce: "pre",
    transform: {
      filter: { id: /\/src\/store\/sqlite\/thread\.ts$/ },
      async handler(code) {
        const folder = path(".cache/store/sqlite");
        await bundle(`${folder}/worker.js`);
        return {
          code: code.replaceAll("import.meta.url", JSON.stringify(`${pathToFileURL(folder)}/thread.js`)),
          map: null,
        };
      },
    },
  };
}

async function bundle(file: string): Promise<void> {
  await using build = await rolldown({ input: path("src/store/sqlite/worker.ts"), platform: "node" });
  const { output } = await build.generate({ format: "esm", codeSplitting: false });
  mkdirSync(path(".cache/store/sqlite"), { recursive: true });
  // Another run may be reading it.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, output[0].code);
  renameSync(draft, file);
}
