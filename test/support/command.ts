import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { HostedRun } from "./command-host.js";
import { owned } from "./owned.js";

// Runs the built command as a user would.

export const root = fileURLToPath(new URL("../..", import.meta.url));
const main = `${root}dist/src/cli/main.js`;
const hostFile = fileURLToPath(new URL("command-host.ts", import.meta.url));

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly stdin?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
}

/** Runs `trivium …` to its end in a process of its own. */
export async function triviumAlone(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
  const child = startTrivium(args, options.env, options.cwd);
  child.stdin.end(options.stdin ?? "");
  return resultOf(child);
}

/** Shared processes. Each runs one command at a time: cases that run at the same time share two. */
const hosts = { free: [] as ChildProcess[], started: 0, most: 2 };
const waiters: (() => void)[] = [];

/** Runs `trivium …` to its end in a shared process. With `stdin` it gets a process of its own. */
export async function trivium(args: readonly string[], options: RunOptions = {}): Promise<CommandResult> {
  if (options.stdin !== undefined) return triviumAlone(args, options);
  const hostedRun = { main: builtMain(), args, env: envOf(options.env, options.cwd), cwd: options.cwd ?? root };
  const host = await freeHost();
  try {
    return await runInHost(host, hostedRun);
  } finally {
    if (host.connected && host.exitCode === null) hosts.free.push(host);
    else hosts.started -= 1;
    waiters.shift()?.();
  }
}

async function freeHost(): Promise<ChildProcess> {
  for (;;) {
    const free = hosts.free.pop();
    if (free !== undefined) return free;
    if (hosts.started < hosts.most) break;
    await new Promise<void>((resolve) => waiters.push(resolve));
  }
  hosts.started += 1;
  const host = fork(hostFile, { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
  return owned(host, { until: "process" });
}

async function runInHost(host: ChildProcess, hostedRun: HostedRun): Promise<CommandResult> {
  const raceEnd = new AbortController();
  const { signal } = raceEnd;
  const exit = once(host, "exit", { signal }).then(([code]) => {
    throw new Error(`trivium ${hostedRun.args.join(" ")} ended the shared process with code ${code}`);
  });
  host.send(hostedRun);
  try {
    const [answer] = await Promise.race([once(host, "message", { signal }), exit]);
    return answer as CommandResult;
  } finally {
    raceEnd.abort();
  }
}

/** Runs a shell command in the project's folder. */
export async function shell(command: string, env: Readonly<Record<string, string>> = {}): Promise<CommandResult> {
  return resultOf(owned(spawn("sh", ["-c", command], { cwd: root, env: { ...process.env, ...env } })));
}

type Child = ReturnType<typeof startTrivium>;

/** Starts `trivium …`. Without `cwd` it keeps tasks in memory, so that it leaves no files behind. */
export function startTrivium(args: readonly string[], env: Readonly<Record<string, string>> = {}, cwd?: string) {
  return owned(spawn(process.execPath, [builtMain(), ...args], { cwd, env: envOf(env, cwd) }));
}

function builtMain(): string {
  if (!existsSync(main)) throw new Error(`${main} is missing: run npm run build`);
  return main;
}

function envOf(env: Readonly<Record<string, string>> = {}, cwd?: string) {
  const inheritedEntries = Object.entries(process.env).filter(
    ([name]) => !ownVariables.has(name) && !name.startsWith("TRIVIUM_"),
  );
  const store = cwd === undefined ? { TRIVIUM_STORE: "memory" } : {};
  return { ...Object.fromEntries(inheritedEntries), ...store, ...env };
}

/** Variables that the command reads besides its own. */
const ownVariables: ReadonlySet<string> = new Set(["PORT", "FORCE_COLOR", "NO_COLOR"]);

async function resultOf(child: Child): Promise<CommandResult> {
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: code as number | null, stdout, stderr };
}

/** A running demo agent. */
export interface Demo {
  readonly url: string;
  readonly port: number;
  /** What it printed at startup. */
  readonly greeting: string;
  /** What it wrote to stderr so far. */
  log(): string;
  /** Stops it and returns its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts `trivium demo` on a free port, in `cwd` if one is given. */
export async function startDemo(
  args: readonly string[] = ["--port", "0"],
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
): Promise<Demo> {
  const child = startTrivium(["demo", ...args], env, cwd);
  let log = "";
  child.stderr.on("data", (chunk) => {
    log += chunk;
  });
  const greeting = await greetingOf(child, () => log);
  const url = /http:\/\/[^/\s]+/.exec(greeting)?.[0] ?? "";
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await once(child, "close");
    }
    return child.exitCode;
  };
  return {
    url,
    port: Number(new URL(url).port),
    greeting,
    log: () => log,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop("SIGKILL");
    },
  };
}

async function greetingOf(child: Child, log: () => string): Promise<string> {
  let greeting = "";
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    greeting += chunk;
    if (greeting.includes("message:stream") && greeting.endsWith("\n\n")) return greeting;
  }
  throw new Error(`the demo did not start: ${greeting}${log()}`);
}
