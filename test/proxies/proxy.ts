import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { killed, owned } from "../support/owned.js";

/** A proxy that tests start: its program, and how it runs a configuration in the foreground. */
const programs = {
  haproxy: { file: "haproxy.cfg", args: (config: string) => ["-f", config] },
  nginx: {
    file: "nginx.conf",
    args: (config: string) => ["-c", config, "-e", "stderr", "-g", "daemon off; pid nginx.pid;", "-p", dirname(config)],
  },
  envoy: {
    file: "envoy.yaml",
    args: (config: string) => ["-c", config, "--use-dynamic-base-id", "--concurrency", "1", "-l", "warning"],
  },
};
export type ProxyName = keyof typeof programs;

export interface ProxyProcess extends AsyncDisposable {
  /** What it has said so far. */
  readOutput(): string;
}

export interface ProxySetting {
  readonly config: string;
  /** Other files of its folder, by name. */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /** The port that shows that it is ready. */
  readonly port: number;
}

const envoyFolder = fileURLToPath(new URL(".envoy/envoy/_bin", import.meta.url));
const places = [envoyFolder, ...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];

function programOf(name: ProxyName): string | undefined {
  return places.map((place) => join(place, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether a proxy is installed. Required in CI. */
export function hasProxy(name: ProxyName): boolean {
  if (programOf(name) !== undefined) return true;
  const line = `no ${name}: its tests are skipped (test/proxies/setup.sh)`;
  if (process.env["CI"] === "true") throw new Error(line);
  process.stderr.write(`${line}\n`);
  return false;
}

/** Starts a proxy in a folder of its own. Disposing it ends it. */
export async function startProxy(name: ProxyName, { config, files = {}, port }: ProxySetting): Promise<ProxyProcess> {
  const program = programOf(name);
  if (program === undefined) throw new Error(`${name} is not installed`);
  const folder = mkdtempSync(join(tmpdir(), `trivium-${name}-`));
  const { file, args } = programs[name];
  for (const [path, text] of Object.entries({ ...files, [file]: config })) writeFileSync(join(folder, path), text);
  const command = spawn(program, args(join(folder, file)), { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const child = owned(command, { folder });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = `${output}${text}`.slice(-10_000);
    });
  }
  const end = async (): Promise<void> => {
    await killed(child);
    rmSync(folder, { recursive: true, force: true });
  };
  await untilOpen(child, port).catch(async (error: unknown) => {
    await end();
    throw new Error(`${name} did not start: ${output}`, { cause: error });
  });
  return { readOutput: () => output, [Symbol.asyncDispose]: end };
}

async function untilOpen(child: ChildProcess, port: number): Promise<void> {
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("it has ended");
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await setTimeout(20);
  }
}

/** The text of a file of `deploy/`. */
export const deployFile = (name: string): string => fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url));
