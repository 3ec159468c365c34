import { cp, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { inject } from "vitest";
import { type RunningExample, startProgram } from "../support/example.js";
import { execute } from "../support/owned.js";

/** A project of a user of the package. */
export interface Project {
  readonly folder: string;
  write(file: string, text: string): Promise<void>;
  /** Runs a program in the folder; returns what it prints and its exit code, whatever it is. */
  run(command: string, ...args: readonly string[]): Promise<Outcome>;
  /** Starts a server of the project on a free port, with only errors in its log. */
  start(file: string, env?: Readonly<Record<string, string>>): Promise<RunningExample>;
}

/** How a program ended. */
interface Outcome {
  readonly code: number;
  readonly output: string;
}

/** An empty project that has installed the packed package, and other packages beside it. */
export async function createProject(...packages: readonly string[]): Promise<Project> {
  const project = await emptyProject();
  await project.write("package.json", JSON.stringify({ private: true, type: "module", allowScripts: { node: true } }));
  await install(project, ...packages);
  return project;
}

/** A copy of an example with its packages and the packed package. Fails when its programs do not compile. */
export async function createExample(name: string): Promise<Project> {
  const project = await emptyProject();
  await cp(`examples/${name}`, project.folder, { recursive: true });
  await install(project);
  await project.write("tsconfig.json", JSON.stringify(strict));
  const { code, output } = await project.run(process.execPath, "node_modules/typescript/bin/tsc", "--pretty", "false");
  if (code !== 0) throw new Error(`examples/${name} does not compile: ${output}`);
  return project;
}

/** What `tsc --init` makes, for programs that Node runs as they are. */
const strict = {
  compilerOptions: {
    target: "esnext",
    module: "nodenext",
    types: ["node"],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
};

async function emptyProject(): Promise<Project> {
  const folder = await mkdtemp(join(inject("workFolder"), "project-"));
  return {
    folder,
    async write(file, text) {
      const path = join(folder, file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    },
    async run(command, ...args) {
      const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };
      const ended = execute(command, args, { cwd: folder, env, maxBuffer: 2 ** 24 });
      const { stdout, stderr } = await ended.catch((error: { stdout: string; stderr: string }) => error);
      return { code: ended.child.exitCode ?? -1, output: stdout + stderr };
    },
    start: (file, env) => startProgram(file, { cwd: folder, env: { TRIVIUM_LOG: "error", ...env } }),
  };
}

async function install(project: Project, ...packages: readonly string[]): Promise<void> {
  const options = ["--no-audit", "--no-fund", "--prefer-offline"];
  const { code, output } = await project.run("npm", "install", ...options, ...packages, inject("tarball"));
  if (code !== 0) throw new Error(`npm install failed: ${output}`);
}
