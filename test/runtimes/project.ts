import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { execute, owned } from "../support/owned.js";
import type { Runtime } from "./runtime.js";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const root = here("../..");

/** A project with the package installed as a user would: runtimes treat files in `node_modules` differently. */
export interface Project extends AsyncDisposable {
  /** Starts one of its programs. */
  start(runtime: Runtime, program: ProgramName, args?: readonly string[]): Program;
}

/** The scenarios through either entry point of the package, and the agent mounted in the runtime's own server. */
const programs = { web: "trivium/client", main: "trivium", mount: "trivium" } as const;
type ProgramName = keyof typeof programs;

/** A running program. */
export interface Program {
  /** The first line it prints. Rejects if it ends before. */
  readonly firstLine: Promise<string>;
  /** What it printed and how it ended. It must end by itself unless a test kills it. */
  readonly end: Promise<{ readonly printed: string; readonly complaints: string; readonly code: number | null }>;
  /** Ends its standard input, which makes it exit. */
  leave(): void;
}

/** Builds the package and the programs. */
export async function createProject(): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), "trivium-runtimes-"));
  await install(folder);
  for (const [name, entry] of Object.entries(programs)) await bundle(name, entry, folder);
  return {
    start: ({ command, options }, program, args = []) =>
      started(command, [...options, `${program}.js`, ...args], folder),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Installs the package and its dependencies without a registry. */
async function install(folder: string): Promise<void> {
  const modules = join(folder, "node_modules");
  const own = join(modules, "trivium");
  await mkdir(own, { recursive: true });
  await execute(process.execPath, ["scripts/build.ts", "--out", join(own, "dist")], { cwd: root });
  await cp(join(root, "package.json"), join(own, "package.json"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  const { dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  for (const name of Object.keys(dependencies)) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, "node_modules", name), join(modules, name));
  }
}

/** Bundles each program into one JavaScript file, without the package. */
async function bundle(name: string, entry: string, folder: string): Promise<void> {
  await using bundled = await rolldown({
    input: here(name === "mount" ? "mount.ts" : "program.ts"),
    platform: "node",
    tsconfig: false,
    external: (id) => /^(?:trivium|undici|ipaddr|node:)/.test(id),
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
  });
  const { output } = await bundled.generate({
    format: "esm",
    codeSplitting: false,
    paths: (id) => (id === "trivium/client" ? entry : id),
  });
  await writeFile(join(folder, `${name}.js`), output[0].code);
}

function started(command: string, args: readonly string[], cwd: string): Program {
  const child = owned(
    spawn(command, args, {
      cwd,
      stdio: ["pipe", "pipe", "pipe"],
      // Many times what a program needs, so that a hanging one cannot block the tests for ever.
      timeout: 50_000,
      killSignal: "SIGKILL",
      env: { ...process.env, NO_COLOR: "1" },
    }),
  );
  const first = Promise.withResolvers<string>();
  const printed = collected(child.stdout, (all) => {
    if (all.includes("\n")) first.resolve(all.slice(0, all.indexOf("\n")));
  });
  const complaints = collected(child.stderr);
  const end = once(child, "close").then(([code]: (number | null)[]) => {
    first.reject(new Error(`the program ended with ${code}: ${complaints()}`));
    return { printed: printed(), complaints: complaints(), code: code ?? null };
  });
  // A caller that waits only for the end does not await the first line.
  first.promise.catch(() => {});
  return { firstLine: first.promise, end, leave: () => child.stdin.end() };
}

function collected(stream: Readable, onText: (all: string) => void = () => {}): () => string {
  let all = "";
  stream.setEncoding("utf8").on("data", (piece: string) => {
    all += piece;
    onText(all);
  });
  return () => all;
}
