import { pathToFileURL } from "node:url";

/**
 * The built package, the one that users get. `TRIVIUM_DIST` names the `dist` folder of another revision to measure.
 * Loaded by path: `bench/package.json` makes this folder a package of its own, which ends the self reference.
 */
const elsewhere = process.env["TRIVIUM_DIST"];
const dist = elsewhere ? pathToFileURL(`${elsewhere}/`) : new URL("../dist/", import.meta.url);

/** The address of a file of the build. */
export function builtFile(path: string): string {
  return new URL(path, dist).href;
}

export function loadTrivium(): Promise<typeof import("../src/index.js")> {
  return import(builtFile("src/index.js"));
}

/** The generated messages; they hold enums, which Node cannot strip, so they come from the build as well. */
export function loadMessages(): Promise<typeof import("../gen/lf/a2a/v1/a2a_pb.js")> {
  return import(builtFile("gen/lf/a2a/v1/a2a_pb.js"));
}
