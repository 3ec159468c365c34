import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildInUse } from "./builds.ts";
import type { Answers, Question, Ready, Work } from "./control.ts";

/** A server in a process of its own, so that its CPU time and memory are nobody else's. */
export interface Server extends AsyncDisposable, Ready {
  ask<Q extends Question>(question: Q): Promise<Answers[Q]>;
}

/** Which program of `bench/servers/` stands for which side, or for what a side is compared with. */
export const programs = { floor: "floor.ts", ours: "ours.ts", peer: "js-sdk.ts", newest: "ours-newest.ts" } as const;
export type ProgramName = keyof typeof programs;

/** Starts a program of `bench/servers/` and waits until it listens. */
export async function startServer(program: string, args: readonly string[] = []): Promise<Server> {
  const { first, ...server } = await startProgram<Ready>(`servers/${program}`, args);
  return { ...first, ...server };
}

/** A program in a process of its own, and the first thing that it said. */
export interface Program<T> extends AsyncDisposable {
  readonly first: T;
  ask(question: Question | Work): Promise<number>;
}

/** Starts a program of the build in use and waits for its first message. */
export async function startProgram<T>(program: string, args: readonly string[] = []): Promise<Program<T>> {
  const { child, complaints } = forkProgram(program, args);
  const nextMessage = <T>() => messageOf<T>(child, complaints);
  return {
    first: await nextMessage<T>(),
    ask: (question: Question | Work) => {
      const answer = nextMessage<number>();
      child.send(question);
      return answer;
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.disconnect();
      await exit;
    },
  };
}

/** Runs a program of the build in use to its end; one that leaves with another code than 0 is an error. */
export async function runProgram(program: string, args: readonly string[]): Promise<void> {
  const { child, complaints } = forkProgram(program, args);
  const [code, signal] = await once(child, "exit");
  if (code !== 0) throw new Error(`bench/${program} left with ${ending([code, signal])}: ${complaints()}`);
}

interface ServerProcess {
  readonly child: ChildProcess;
  /** What the child has written to its standard error, the end of it. */
  complaints(): string;
}

function forkProgram(program: string, args: readonly string[]): ServerProcess {
  const { programs, dist } = buildInUse();
  const path = fileURLToPath(new URL(program, programs));
  if (!existsSync(path)) throw new Error(`this build has no bench/${program}`);
  const child = fork(path, args, {
    execArgv: ["--expose-gc"],
    env: {
      ...process.env,
      NODE_ENV: "production",
      TRIVIUM_LOG: "silent",
      ...(dist === undefined ? {} : { TRIVIUM_DIST: dist }),
    },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (piece: string) => {
    text = `${text}${piece}`.slice(-1_000);
  });
  return { child, complaints: () => text };
}

/** The CPU time of a server while `work` runs, divided by `count`, in microseconds. */
export async function cpuPer(server: Server, count: number, work: () => Promise<unknown>): Promise<number> {
  const before = await server.ask("cpu");
  await work();
  return ((await server.ask("cpu")) - before) / count;
}

type Ending = readonly [code: number | null, signal: NodeJS.Signals | null];

function ending([code, signal]: Ending): string {
  return code === null ? `signal ${signal}` : `code ${code}`;
}

/** The next message of a child; a child that leaves instead is an error with what it last complained about. */
function messageOf<T>(child: ChildProcess, complaints: () => string): Promise<T> {
  return new Promise((resolve, reject) => {
    const failOnExit = (...end: Ending) => reject(new Error(`a server left with ${ending(end)}: ${complaints()}`));
    child.once("exit", failOnExit);
    child.once("message", (message) => {
      child.off("exit", failOnExit);
      resolve(message as T);
    });
  });
}
