import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { exitOf, killed, owned } from "../support/owned.js";

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** A program that serves an agent with an official SDK on every binding of the SDK. */
export interface SdkAgent {
  readonly name: "JavaScript" | "Python" | "Go";
  /** An older release of the SDK. Default: the newest. */
  readonly release?: string | undefined;
  readonly command: string;
  readonly options: readonly string[];
  /** Whether `setup.sh` has installed it. */
  readonly installed: boolean;
}

export const sdkAgents: readonly SdkAgent[] = [
  {
    name: "JavaScript",
    command: process.execPath,
    options: [path("js/agent.mjs")],
    installed: existsSync(path("js/node_modules/express")),
  },
  {
    name: "Python",
    command: path(".venv/bin/python"),
    options: [path("python/agent.py")],
    installed: existsSync(path(".venv/bin/uvicorn")),
  },
  { name: "Go", command: path("go/bin/agent"), options: [], installed: existsSync(path("go/bin/agent")) },
];

/** Older releases that speak 1.0, with the same programs. */
export const olderAgents: readonly SdkAgent[] = [
  {
    name: "JavaScript",
    release: "1.0.1",
    command: process.execPath,
    options: ["--import", path("js/older.mjs"), path("js/agent.mjs")],
    installed: existsSync(path("js/node_modules/sdk-1.0")),
  },
  ...["2.3.1", "2.0.1"].map((release): SdkAgent => {
    const command = path(`go/bin/v${release}/agent`);
    return { name: "Go", release, command, options: [], installed: existsSync(command) };
  }),
];

/** The SDK's name, with its release if it is an older one. */
export function titleOf({ name, release }: Pick<SdkAgent, "name" | "release">): string {
  return release === undefined ? name : `${name} ${release}`;
}

/** A running agent. Disposing of it, or ending this process, ends its process. */
export interface RunningAgent extends AsyncDisposable {
  /** The URL of its card. */
  readonly url: string;
}

// Many times what any of them needs on a slow machine.
const startTimeoutMs = 60_000;
const complaintsMaxLength = 10_000;

/** What an agent may demand of its callers: one of them. */
export interface Demands {
  readonly token: string;
  readonly key: string;
}

/** Starts an agent and waits for its first line. Fails with its error output if none comes. */
export async function startAgent({ name, command, options }: SdkAgent, demands?: Demands): Promise<RunningAgent> {
  const demanded = Object.entries(demands ?? {}).flatMap(([option, value]) => [`--${option}`, value]);
  const child = owned(spawn(command, [...options, ...demanded], { stdio: ["pipe", "pipe", "pipe"] }));
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints = (complaints + text).slice(-complaintsMaxLength);
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), startTimeoutMs);
  try {
    const line = await Promise.race([firstLine(child.stdout), endOf(child)]);
    const { card } = JSON.parse(line) as { readonly card: string };
    // Keep its further output from filling the pipe.
    child.stdout.resume();
    return { url: card, [Symbol.asyncDispose]: () => stop(child) };
  } catch (cause) {
    await stop(child);
    throw new Error(`the agent on the ${name} SDK did not start\n${complaints}`, { cause });
  } finally {
    clearTimeout(timer);
  }
}

async function firstLine(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(output)) return line;
  throw new Error("it ended without a line");
}

async function endOf(child: ChildProcess): Promise<never> {
  throw new Error(`it ended with ${await exitOf(child)}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid !== undefined) await killed(child);
}
