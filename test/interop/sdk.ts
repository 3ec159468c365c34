import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { owned } from "../support/owned.js";
import type { BindingName } from "./cases.js";
import type { Secrets } from "./guarded.js";

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** An official SDK and the program that runs the cases with it. */
export interface Sdk {
  readonly name: string;
  readonly command: string;
  /** Arguments of the command before the options. */
  readonly program: readonly string[];
  /** Whether `setup.sh` has installed it. */
  readonly installed: boolean;
}

export const sdks: readonly Sdk[] = [
  {
    name: "JavaScript",
    command: process.execPath,
    program: [path("js/client.mjs")],
    installed: existsSync(path("js/node_modules/@a2a-js/sdk")),
  },
  {
    name: "Python",
    command: path(".venv/bin/python"),
    program: [path("python/client.py")],
    installed: existsSync(path(".venv/bin/python")),
  },
  {
    name: "Go",
    command: path("go/bin/client"),
    program: [],
    installed: existsSync(path("go/bin/client")),
  },
];

/** Older releases that speak 1.0, with the same programs. */
export const olderSdks: readonly Sdk[] = [
  {
    name: "JavaScript 1.0.1",
    command: process.execPath,
    program: ["--import", path("js/older.mjs"), path("js/client.mjs")],
    installed: existsSync(path("js/node_modules/sdk-1.0")),
  },
  {
    name: "Go 2.3.1",
    command: path("go/bin/v2.3.1/client"),
    program: [],
    installed: existsSync(path("go/bin/v2.3.1/client")),
  },
];

/** One line of a client's report. */
interface Outcome {
  readonly case: string;
  readonly ok: boolean;
  readonly detail: string;
}

export interface Report {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** How the program ended, for cases it never reached. */
  readonly end: string;
}

export interface Agents {
  readonly full: string;
  readonly plain: string;
  /** An agent that wants credentials, and what the client has of them. */
  readonly guarded: { readonly guarded: string } & Secrets;
}

// Many times what a client needs, so that a hanging agent cannot block the tests for ever.
const timeout = 60_000;

/** Runs every case with an SDK over a binding. */
export async function runClient({ command, program }: Sdk, binding: BindingName, agents: Agents): Promise<Report> {
  const values = { url: agents.full, plain: agents.plain, binding, ...agents.guarded };
  const options = Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);
  const child = owned(
    spawn(command, [...program, ...options], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout,
      killSignal: "SIGKILL",
    }),
  );
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(`exit code ${code ?? signal}`));
  });
  const [end, output, complaints] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  const lines = output.split("\n").filter((line) => line.startsWith("{"));
  const outcomes = lines.map((line) => JSON.parse(line) as Outcome);
  return {
    outcomes: new Map(outcomes.map((outcome) => [outcome.case, outcome])),
    end: `the client ended with ${end}\n${complaints}`,
  };
}
