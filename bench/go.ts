/**
 * The Go programs: a load generator that uses `net/http` and grpc-go (`load/go`), and the official SDK as a server
 * (`servers/go-sdk`). They take a line on stdin and answer with one on stdout. Go is the one on the path, or else the one
 * that `test/interop/setup.sh` fetched.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Server } from "./child.ts";
import type { Ready } from "./control.ts";

const programs = { load: "load/go", server: "servers/go-sdk" } as const;
type ProgramName = keyof typeof programs;

const compilers = ["go", fileURLToPath(new URL("../test/interop/.venv/bin/go", import.meta.url))];
// Another version of Go is not fetched for a module that demands one.
const env = { ...process.env, GOTOOLCHAIN: "local" };

/** The official Go SDK as a server. */
export async function startGoServer(): Promise<Server> {
  const program = startLines("server");
  const ready: Ready = JSON.parse(await program.nextLine());
  return {
    ...ready,
    ask: async (question) => Number(await program.ask(question)),
    [Symbol.asyncDispose]: () => program.end(),
  };
}

/** Whether this machine has a Go that is new enough for the programs. */
export function hasGo(): boolean {
  return findCompiler() !== undefined;
}

/** A running program that answers each line with one of its own. */
export interface LineProgram {
  nextLine(): Promise<string>;
  ask(line: string): Promise<string>;
  end(): Promise<void>;
}

/** Starts a program; it ends with this process at the latest, which holds its standard input. */
export function startLines(name: ProgramName, args: readonly string[] = []): LineProgram {
  const child = spawn(build(name), args, { stdio: ["pipe", "pipe", "pipe"] });
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (piece: string) => {
    complaints = `${complaints}${piece}`.slice(-1_000);
  });
  // A program that has ended is found out by its missing answer.
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async () => {
    const { done, value } = await lines.next();
    if (done) throw new Error(`bench/${programs[name]} ended: ${complaints}`);
    return value;
  };
  return {
    nextLine,
    ask: (line) => {
      child.stdin.write(`${line}\n`);
      return nextLine();
    },
    end: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.stdin.end();
      await exit;
    },
  };
}

const built = new Map<ProgramName, string>();

/** The path of a program. The compiler's own cache decides what has changed since it was built last. */
function build(name: ProgramName): string {
  const path = built.get(name) ?? fileURLToPath(new URL(`../.cache/bench-go/${name}`, import.meta.url));
  if (!built.has(name)) {
    const compiler = findCompiler();
    if (compiler === undefined) throw new Error(`bench/${programs[name]} needs Go`);
    const args = ["-C", folderOf(name), "build", "-buildvcs=false", "-o", path, "."];
    execFileSync(compiler, args, { env, stdio: ["ignore", "ignore", "inherit"] });
    built.set(name, path);
  }
  return path;
}

let compiler: string | undefined;

function findCompiler(): string | undefined {
  // A module refuses a version of Go that is older than the one it names.
  compiler ??= compilers.find(
    (path) => spawnSync(path, ["-C", folderOf("server"), "list", "-m"], { env }).status === 0,
  );
  return compiler;
}

function folderOf(name: ProgramName): string {
  return fileURLToPath(new URL(programs[name], import.meta.url));
}
