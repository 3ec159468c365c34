import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const path = (name: string): string => fileURLToPath(new URL(`node_modules/.bin/${name}`, import.meta.url));

/** A runtime beside Node, and how it is told to run a file. */
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

/** Where tests have to be complete, a runtime that is missing is a failure and not a reason to skip. */
export const complete = process.env["CI"] !== undefined;
