import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** Sources import each other under the names of the build; those lie beside them. */
const hooks = `import { registerHooks } from "node:module";
registerHooks({
  resolve: (specifier, context, next) =>
    next(/^\\.{1,2}\\/.*\\.js$/.test(specifier) && context.parentURL?.endsWith(".ts")
      ? specifier.replace(/\\.js$/, ".ts") : specifier, context),
});`;

export interface SourceProcess {
  /** The next line that it writes; `undefined` at its end. */
  line(): Promise<string | undefined>;
  /** All lines from now on. */
  rest(): Promise<readonly string[]>;
  kill(): void;
  /** Its exit code, or the signal that ended it. */
  readonly end: Promise<number | NodeJS.Signals>;
}

/** Options with which Node runs a source. */
export const sourceFlags: readonly string[] = [
  "--experimental-transform-types",
  "--no-warnings",
  "--import",
  `data:text/javascript,${encodeURIComponent(hooks)}`,
];

/** Runs a file of this folder as a process of its own. It is ended with the test. */
export function runSource(name: string, ...args: readonly string[]): SourceProcess {
  const file = fileURLToPath(new URL(name, import.meta.url));
  const child = spawn(process.execPath, [...sourceFlags, file, ...args], { stdio: ["ignore", "pipe", "inherit"] });
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
