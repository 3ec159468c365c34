import { execFile } from "node:child_process";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";

const execute = promisify(execFile);

/** A project of a user of the package. */
export interface Project {
  readonly folder: string;
  write(file: string, text: string): Promise<void>;
  /** Runs a program in the folder; returns what it prints and its exit code, whatever it is. */
  run(command: string, ...args: readonly string[]): Promise<Outcome>;
}

/** How a program ended. */
interface Outcome {
  readonly code: number;
  readonly output: string;
}

/** An empty project that has installed the packed package, and other packages beside it. */
export async function createProject(...packages: readonly string[]): Promise<Project> {
  const folder = await mkdtemp(join(inject("workFolder"), "project-"));
  const project: Project = {
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
  };
  await project.write("package.json", JSON.stringify({ private: true, type: "module", allowScripts: { node: true } }));
  const { code, output } = await project.run(
    "npm",
    ...["install", "--no-audit", "--no-fund", "--prefer-offline"],
    ...packages,
    inject("tarball"),
  );
  if (code !== 0) throw new Error(`npm install failed: ${output}`);
  return project;
}
