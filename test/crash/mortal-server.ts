import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { fixedPort } from "../support/fixed-port.js";

/** One run of the agent, as the server's process wrote it down: it began, or it knows that its task is stored. */
export interface Run {
  readonly kind: "begun" | "stored";
  /** The process. */
  readonly life: number;
  /** What the agent was told to do. */
  readonly verb: string;
  readonly messageId: string;
  readonly taskId: string;
  readonly attempt: number;
  readonly cause: string;
}

export interface MortalOptions {
  /** `memory`, a file, or the URL of a database. */
  readonly store: string;
  /** The file for the runs of the agent. */
  readonly runs: string;
  readonly restartable: boolean;
  /** SIGTERM closes the server before the process ends. */
  readonly handleSignals?: boolean | undefined;
  /** Default: one second. */
  readonly instanceTtlMs?: number | undefined;
}

/** A server that is killed and started again, always on the same port. */
export interface MortalServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The process that runs now. */
  readonly life: number;
  /** Whether this process runs. */
  isAlive(life: number): boolean;
  /** How many processes have served so far. */
  readonly lives: number;
  /** What the processes complained about, the last part of it. */
  complaints(): string;
  runs(): readonly Run[];
  /** Starts a process; resolves once it serves, or with false when it was killed before that. */
  start(): Promise<boolean>;
  /** Ends the process at once, as a power cut of it alone would. */
  kill(): Promise<void>;
  /** Asks the process to end, and gives what it ends with: its code, or the signal that ended it. */
  terminate(): Promise<unknown>;
}

const program = fileURLToPath(new URL("server-program.ts", import.meta.url));

export async function mortalServer(options: MortalOptions): Promise<MortalServer> {
  const port = await fixedPort();
  let child: ChildProcess | undefined;
  let killed = false;
  let lives = 0;
  let complaints = "";
  const setting = JSON.stringify({ ...options, port });
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    killed = true;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
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
      killed = false;
      const env = {
        ...process.env,
        NODE_ENV: "production",
        NODE_COMPILE_CACHE: `${options.runs}.cache`,
        CRASH_SERVER: setting,
      };
      const born = fork(program, { env, execArgv: [], stdio: ["ignore", "ignore", "pipe", "ipc"] });
      child = born;
      born.stderr?.setEncoding("utf8").on("data", (text: string) => {
        complaints = `${complaints}${text}`.slice(-4000);
      });
      const first = await Promise.race([once(born, "message"), once(born, "exit")]);
      if (killed) return false;
      if (born.exitCode !== null) throw new Error(`the server left with ${first}: ${complaints}`);
      lives++;
      return true;
    },
    kill,
    async terminate() {
      if (child === undefined) return undefined;
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      const [code, signal] = await gone;
      return code ?? signal;
    },
    [Symbol.asyncDispose]: kill,
  };
}

function runOf(line: string): Run {
  return JSON.parse(line) as Run;
}
