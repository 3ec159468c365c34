import { type ChildProcess, type ExecFileOptions, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { promisify } from "node:util";

// The child processes of tests. Each ends with the file of tests that started it, or with its worker at the latest. Vitest
// ends its workers by signals, before they could do anything: a guard outside of their group of processes does it then.

export interface Ownership {
  /** What it ends with: the file of tests, or this process, for what several files share. Default: `file`. */
  readonly until?: "file" | "process" | undefined;
  /** Whether it leads a group of processes (`detached`) that ends with it. Default: false. */
  readonly group?: boolean | undefined;
  /** The signal that ends it. Default: `SIGKILL`. */
  readonly signal?: "SIGKILL" | "SIGQUIT" | undefined;
  /** A folder to remove when it had to be ended. */
  readonly folder?: string | undefined;
}

interface OwnedProcess extends Ownership {
  readonly child: ChildProcess;
}

const running = new Set<OwnedProcess>();

/** Has a child process end in time. Returns it. */
export function owned<C extends ChildProcess>(child: C, how: Ownership = {}): C {
  const { pid } = child;
  // It could not be started, which its `error` says.
  if (pid === undefined) return child;
  const { group = false, signal = "SIGKILL", folder = "" } = how;
  const process = { ...how, child };
  running.add(process);
  tellGuard(`${pid} ${signal.slice(3)} ${group ? -pid : pid} ${folder}`);
  child.once("exit", () => {
    // Others of its group may still run.
    if (group) return;
    running.delete(process);
    tellGuard(`${pid} ended`);
  });
  return child;
}

/** Runs a program to its end, which comes with the file of tests at the latest. Rejects as `execFile` does. */
export function execute(program: string, args: readonly string[] = [], options: ExecFileOptions = {}) {
  const ended = promisify(execFile)(program, args, { ...options, encoding: "utf8" });
  owned(ended.child);
  return ended;
}

/** Resolves with the exit code of a child process, or the signal that ended it, whether it has ended or will. */
export async function exitOf(child: ChildProcess): Promise<number | NodeJS.Signals | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode ?? child.signalCode;
}

/** Kills a child process, unless it has ended, and waits for its end. */
export async function killed(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await exitOf(child);
}

/** Ends the processes that a file of tests has left. */
export async function endLeft(): Promise<void> {
  const left = [...running].filter(({ until = "file" }) => until === "file");
  await Promise.all(left.map(end));
}

async function end(process: OwnedProcess): Promise<void> {
  const { child, group = false, signal = "SIGKILL", folder } = process;
  running.delete(process);
  if (group && child.pid !== undefined) killGroup(child.pid);
  else child.kill(signal);
  await exitOf(child);
  if (group) tellGuard(`${child.pid} ended`);
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // All of it has ended.
  }
}

/** Reads of processes that begin and end until its input ends, with this process. Then it ends those that are left. */
const guarding = `
all=
while read -r pid signal target folder; do
  all="$all $pid"
  eval "signal_$pid=\\$signal target_$pid=\\$target folder_$pid=\\$folder"
done
for pid in $all; do
  eval "signal=\\$signal_$pid target=\\$target_$pid"
  [ "$signal" = ended ] || kill -s "$signal" -- "$target"
done
for pid in $all; do
  eval "signal=\\$signal_$pid folder=\\$folder_$pid"
  [ "$signal" = ended ] || [ -z "$folder" ] && continue
  for _ in $(seq 100); do kill -0 "$pid" || break; sleep 0.1; done
  rm -rf "$folder"
done`;

let guard: NodeJS.WritableStream | undefined;

function tellGuard(line: string): void {
  guard ??= startGuard();
  guard.write(`${line}\n`);
}

function startGuard(): NodeJS.WritableStream {
  const child = spawn("sh", ["-c", guarding], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  child.unref();
  // It goes on when this process ends, and must not keep it.
  if ("unref" in child.stdin && typeof child.stdin.unref === "function") child.stdin.unref();
  return child.stdin.on("error", () => {});
}
