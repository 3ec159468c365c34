import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const path = (name: string): string => fileURLToPath(new URL(`node_modules/.bin/${name}`, import.meta.url));

/** A runtime other than Node, and how it runs a file. */
export interface Runtime {
  readonly name: string;
  readonly command: string;
  readonly options: readonly string[];
  /** Whether `setup.sh` has installed it. */
  readonly installed: boolean;
}

export const runtimes: readonly Runtime[] = [
  { name: "Bun", command: path("bun"), options: [], installed: existsSync(path("bun")) },
  { name: "Deno", command: path("deno"), options: ["run", "--allow-all"], installed: existsSync(path("deno")) },
];

/** In CI a missing runtime is a failure instead of a skip. */
export const complete = process.env["CI"] !== undefined;
