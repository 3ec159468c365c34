import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { fixedPort } from "../support/fixed-port.js";
import { exitOf, killed, owned } from "../support/owned.js";

/** One run of the agent, recorded by the server's process: `began`, or `stored` once its task is stored. */
export interface Run {
  readonly kind: "begun" | "stored";
  /** The number of the process. */
  readonly life: number;
  /** The command in the message. */
  readonly verb: string;
  readonly messageId: string;
  readonly taskId: string;
  readonly attempt: number;
  readonly cause: string;
}

export interface MortalOptions {
  /** `memory`, a file, or a database URL. */
  readonly store: string;
  /** The file that records the agent's runs. */
  readonly runs: string;
  readonly restartable: boolean;
  /** Whether SIGTERM closes the server before the process ends. */
  readonly handleSignals?: boolean | undefined;
  /** Default: one second. */
  readonly instanceTtlMs?: number | undefined;
  /** Default: none. */
  readonly lameDuckMs?: number | undefined;
}

/** A server that is killed and restarted on the same port. */
export interface MortalServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The number of the running process. */
  readonly life: number;
  /** Whether this process is running. */
  isAlive(life: number): boolean;
  /** How many processes have served so far. */
  readonly lives: number;
  /** The last part of the processes' error output. */
  complaints(): string;
  runs(): readonly Run[];
  /** Starts a process. Resolves once it serves, or with false if it was killed first. */
  start(): Promise<boolean>;
  /** Kills the process at once with SIGKILL. */
  kill(): Promise<void>;
  /** Sends SIGTERM and returns the exit code, or the signal that ended the process. */
  terminate(): Promise<unknown>;
  /** Kills the process, and any that is started later. */
  [Symbol.asyncDispose](): Promise<void>;
}

const program = fileURLToPath(new URL("server-program.ts", import.meta.url));

export async function mortalServer(options: MortalOptions): Promise<MortalServer> {
  const port = await fixedPort();
  let child: ChildProcess | undefined;
  let isKilled = false;
  let isOver = false;
  let lives = 0;
  let complaints = "";
  const setting = JSON.stringify({ ...options, port });
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    isKilled = true;
    await killed(child);
  };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    get life() {
      return child?.pid ?? 0;
    },
    get lives() {
      return lives;
    },
    isAlive: (life) => life === child?.pid,
    complaints: () => complaints,
    runs: () => (existsSync(options.runs) ? readFileSync(options.runs, "utf8").trim().split("\n").map(runOf) : []),
    async start() {
      if (isOver) throw new Error("the server is started after its end");
      isKilled = false;
      const env = {
        ...process.env,
        NODE_ENV: "production",
        NODE_COMPILE_CACHE: `${options.runs}.cache`,
        CRASH_SERVER: setting,
      };
      const born = owned(fork(program, { env, execArgv: [], stdio: ["ignore", "ignore", "pipe", "ipc"] }));
      child = born;
      born.stderr?.setEncoding("utf8").on("data", (text: string) => {
        complaints = `${complaints}${text}`.slice(-4000);
      });
      await Promise.race([once(born, "message"), exitOf(born)]);
      if (isKilled) return false;
      const left = born.exitCode ?? born.signalCode;
      if (left !== null) throw new Error(`the server left with ${left}: ${complaints}`);
      lives++;
      return true;
    },
    kill,
    async terminate() {
      if (child === undefined) return undefined;
      child.kill("SIGTERM");
      return exitOf(child);
    },
    [Symbol.asyncDispose]() {
      isOver = true;
      return kill();
    },
  };
}

function runOf(line: string): Run {
  return JSON.parse(line) as Run;
}
