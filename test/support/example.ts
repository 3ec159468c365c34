import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { execute, exitOf, owned } from "./owned.js";

/** An example running in its own process, and the URL it printed. */
export interface RunningExample {
  readonly url: string;
  /** What it has printed so far. */
  readonly printed: string;
  /** Stops it and returns its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts `examples/<name>/server.ts` on a free port, as a reader would. It imports the built package by name. */
export function startExample(name: string, env: Readonly<Record<string, string>> = {}): Promise<RunningExample> {
  return startProgram(`examples/${name}/server.ts`, { env });
}

/** Starts a program that serves on a free port. */
export async function startProgram(
  file: string,
  {
    args = [],
    cwd,
    env,
  }: { readonly args?: readonly string[]; readonly cwd?: string; readonly env: Readonly<Record<string, string>> },
): Promise<RunningExample> {
  const child = owned(
    spawn(process.execPath, [file, ...args], {
      cwd,
      env: { ...process.env, PORT: "0", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
  const output = { text: "" };
  const url = await urlOf(child, output);
  return {
    url,
    get printed() {
      return output.text;
    },
    async stop(signal) {
      child.kill(signal);
      await exitOf(child);
      return child.exitCode;
    },
  };
}

/** A program that runs to its end. */
interface RunningProgram {
  /** Resolves when it has printed this. */
  waitForOutput(text: string): Promise<void>;
  /** Resolves with all that it has printed, and its exit code. */
  readonly result: Promise<{ readonly code: number | null; readonly output: string }>;
}

/** Runs a program and watches its output. */
export function watchProgram(
  file: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): RunningProgram {
  const child = owned(
    spawn(process.execPath, [file, ...args], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
  let output = "";
  let nextChange = Promise.withResolvers<void>();
  const change = (): void => {
    nextChange.resolve();
    nextChange = Promise.withResolvers();
  };
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    output += piece;
    change();
  });
  const result = once(child, "close").then(([code]: readonly (number | null)[]) => ({ code: code ?? null, output }));
  let isOver = false;
  result.then(() => {
    isOver = true;
    change();
  }, change);
  return {
    result,
    async waitForOutput(text) {
      while (!output.includes(text)) {
        if (isOver) throw new Error(`${file} has ended, after it had printed:\n${output}`);
        await nextChange.promise;
      }
    },
  };
}

function urlOf(child: ChildProcess, output: { text: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    let err = "";
    child.stdout?.on("data", (chunk) => {
      output.text += String(chunk);
      const url = /(http:\/\/\S+)/.exec(output.text)?.[1];
      if (url !== undefined) resolve(url);
    });
    child.stderr?.on("data", (chunk) => {
      err += String(chunk);
    });
    child.on("exit", (code) => reject(new Error(`the example ended with ${code}: ${err}`)));
  });
}

/** Runs `examples/<name>/client.ts` to its end and returns its output. */
export async function runExample(name: string, args: readonly string[] = []): Promise<string> {
  const { stdout } = await execute(process.execPath, [`examples/${name}/client.ts`, ...args]);
  return stdout;
}
