import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { root, startTrivium } from "./command.js";

/** A folder with a program that has the package. */
export interface Project extends AsyncDisposable {
  readonly folder: string;
  write(file: string, text: string): Promise<void>;
  /** Runs `trivium serve` there. */
  serving(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Serving>;
}

export async function project(): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), "trivium-serve-"));
  await mkdir(join(folder, "node_modules"));
  await symlink(root, join(folder, "node_modules/trivium"));
  return {
    folder,
    write: (file, text) => writeFile(join(folder, file), text),
    serving: (args, env) => servingIn(folder, args, env),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

interface Serving extends AsyncDisposable {
  readonly url: string;
  /** What it has printed. */
  readonly printed: () => string;
  /** The same on stderr. */
  readonly complaints: () => string;
  /** Stops it and returns its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

async function servingIn(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Serving> {
  const child = startTrivium(["serve", "--log-level", "silent", ...args], env, folder);
  let [complaints, output] = ["", ""];
  child.stdout.on("data", (piece) => {
    output += String(piece);
  });
  child.stderr.on("data", (piece) => {
    complaints += String(piece);
  });
  const exit = once(child, "close");
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> => {
    child.kill(signal);
    await exit;
    return child.exitCode;
  };
  for await (const line of createInterface(child.stdout)) {
    const url = /listens at (\S+)$/.exec(line)?.[1];
    if (url === undefined) continue;
    child.stdout.resume();
    return {
      url,
      printed: () => output,
      complaints: () => complaints,
      stop,
      [Symbol.asyncDispose]: async () => void (await stop()),
    };
  }
  throw new Error(`it did not listen: ${complaints}`);
}

/** Reads the parts of a served card that tests look at. */
export const cardAt = async (url: string): Promise<{ name: string; supportedInterfaces: { url: string }[] }> =>
  JSON.parse(await (await fetch(`${url}/.well-known/agent-card.json`)).text());
