import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";

/** An example running in its own process, and the URL it printed. */
export interface RunningExample {
  readonly url: string;
  /** Stops it and returns its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts `examples/<name>/server.ts` on a free port, as a reader would. It imports the built package by name. */
export async function startExample(name: string, env: Readonly<Record<string, string>> = {}): Promise<RunningExample> {
  const child = spawn(process.execPath, [`examples/${name}/server.ts`], {
    env: { ...process.env, PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const url = await urlOf(child);
  return {
    url,
    async stop(signal) {
      child.kill(signal);
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      return child.exitCode;
    },
  };
}

function urlOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = "";
    let err = "";
    child.stdout?.on("data", (chunk) => {
      out += String(chunk);
      const url = /(http:\/\/\S+)/.exec(out)?.[1];
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
  const { stdout } = await promisify(execFile)(process.execPath, [`examples/${name}/client.ts`, ...args]);
  return stdout;
}
