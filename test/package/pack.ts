import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** The packed package, as `npm publish` would upload it. */
    readonly tarball: string;
    /** A folder for the projects of the tests. */
    readonly workFolder: string;
  }
}

/** Packs the package once for all tests. */
export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "trivium-package-"));
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder]);
  const name = readdirSync(folder).find((file) => file.endsWith(".tgz"));
  if (name === undefined) throw new Error("npm pack made no file");
  project.provide("tarball", join(folder, name));
  project.provide("workFolder", folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
