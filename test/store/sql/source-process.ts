import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { owned } from "../../support/owned.js";

/** Resolves the build's `.js` imports to the sources beside them. */
const hooks = `import { registerHooks } from "node:module";
registerHooks({
  resolve: (specifier, context, next) =>
    next(/^\\.{1,2}\\/.*\\.js$/.test(specifier) && context.parentURL?.endsWith(".ts")
      ? specifier.replace(/\\.js$/, ".ts") : specifier, context),
});`;

export interface SourceProcess {
  /** The next line of its output, or `undefined` at the end. */
  line(): Promise<string | undefined>;
  /** All further lines. */
  rest(): Promise<readonly string[]>;
  kill(): void;
  /** Its exit code, or the signal that ended it. */
  readonly end: Promise<number | NodeJS.Signals>;
}

/** The options with which Node runs a source file. */
export const sourceFlags: readonly string[] = [
  "--experimental-transform-types",
  "--no-warnings",
  "--import",
  `data:text/javascript,${encodeURIComponent(hooks)}`,
];

/** Runs a file of this folder in its own process, which ends with the test. */
export function runSource(name: string, ...args: readonly string[]): SourceProcess {
  const file = fileURLToPath(new URL(name, import.meta.url));
  const flags = [...sourceFlags, file, ...args];
  const child = owned(spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"] }));
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string | undefined> => (await lines.next()).value;
  return {
    line,
    async rest() {
      const all: string[] = [];
      for (let next = await line(); next !== undefined; next = await line()) all.push(next);
      return all;
    },
    kill: () => void child.kill("SIGKILL"),
    end: endOf(child),
  };
}

async function endOf(child: ChildProcess): Promise<number | NodeJS.Signals> {
  const [code, signal] = await once(child, "exit");
  return code ?? signal;
}
