import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { owned } from "../support/owned.js";

/** The terminals of a reader who follows a page. */
export interface Terminals {
  /** Runs commands in the first terminal, which is one session of bash. Rejects when one of them fails. */
  run(commands: string): Promise<void>;
  /**
   * Runs commands that do not end in a terminal of their own, until they print a URL. The same commands from before are
   * stopped first, as by Ctrl-C.
   */
  runBeside(commands: string): Promise<void>;
  /** Waits until the last commands have printed all lines. `…` is any text. */
  printed(lines: readonly string[]): Promise<void>;
  /** The folder that the first terminal is in. */
  folder(): string;
  /** Kills everything that runs. */
  close(): Promise<void>;
}

interface Terminal {
  readonly shell: ChildProcess;
  output: string;
  /** Resolves with the next output, or the end. */
  changed(): Promise<void>;
  isOver(): boolean;
}

const patienceMs = 60_000;

export function openTerminals(folder: string, env: NodeJS.ProcessEnv): Terminals {
  const first = openTerminal(["--norc", "--noprofile"], { cwd: folder, env });
  first.shell.stdin?.write("exec 2>&1; set -e -o pipefail\n");
  const beside = new Map<string, Terminal>();
  let last = first;
  let cwd = folder;
  let count = 0;
  return {
    async run(commands) {
      last = first;
      first.output = "";
      count++;
      const file = join(folder, `.commands-${count}`);
      const done = new RegExp(`^done ${count} (.*)\\n`, "m");
      writeFileSync(file, commands);
      first.shell.stdin?.write(`source '${file}' </dev/null; printf '\\ndone ${count} %s\\n' "$PWD"\n`);
      await until(first, () => done.test(first.output));
      cwd = done.exec(first.output)?.[1] ?? cwd;
      // A server logs its URL as JSON before its program prints it: the next commands could read that line as their own.
      if (/&\s*$/m.test(commands)) await until(first, () => /^(?!\{).*http:\/\//m.test(first.output));
    },
    async runBeside(commands) {
      await stop(beside.get(commands), "SIGINT");
      const terminal = openTerminal(["-e", "-c", `exec 2>&1\n${commands}`], { cwd, env });
      beside.set(commands, terminal);
      last = terminal;
      await until(terminal, () => terminal.output.includes("http://"));
    },
    printed: (lines) => until(last, () => lines.every((line) => patternOf(line).test(last.output))),
    folder: () => cwd,
    async close() {
      for (const terminal of [...beside.values(), first]) await stop(terminal, "SIGKILL");
    },
  };
}

function openTerminal(args: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }): Terminal {
  // A signal reaches the group of a terminal: the shell, and what it runs.
  const bash = spawn("bash", args, { ...options, detached: true, stdio: ["pipe", "pipe", "inherit"] });
  const shell = owned(bash, { group: true });
  let change = Promise.withResolvers<void>();
  let isOver = false;
  const terminal: Terminal = {
    shell,
    output: "",
    changed: () => change.promise,
    isOver: () => isOver,
  };
  const notify = (): void => {
    change.resolve();
    change = Promise.withResolvers();
  };
  const end = (): void => {
    isOver = true;
    notify();
  };
  shell.on("close", end);
  // What runs in the background keeps the output open, so that it does not close.
  shell.on("exit", () => void setTimeout(1000).then(end));
  shell.stdout.setEncoding("utf8").on("data", (piece: string) => {
    terminal.output += piece;
    notify();
  });
  return terminal;
}

/** Waits for the output. Rejects with what there is when the terminal has ended, or takes too long. */
async function until(terminal: Terminal, isReached: () => boolean): Promise<void> {
  const over = new AbortController();
  const late = setTimeout(patienceMs, true, { signal: over.signal }).catch(() => false);
  try {
    while (!isReached()) {
      const change = terminal.changed();
      if (terminal.isOver())
        throw new Error(`ended with ${terminal.shell.exitCode}, after it had printed:\n${terminal.output}`);
      if (await Promise.race([change.then(() => false), late]))
        throw new Error(`has only printed:\n${terminal.output}`);
    }
  } finally {
    over.abort();
  }
}

function patternOf(line: string): RegExp {
  const texts = line.split("…").map((text) => text.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(texts.join(".*"));
}

/** Ends all processes of a terminal. Some of them may outlive its shell. */
async function stop(terminal: Terminal | undefined, signal: NodeJS.Signals): Promise<void> {
  if (terminal?.shell.pid === undefined) return;
  const ended = terminal.isOver() ? undefined : once(terminal.shell, "close");
  try {
    process.kill(-terminal.shell.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
  await ended;
}
