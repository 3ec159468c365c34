import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { killed, owned } from "../support/owned.js";
import { localTls } from "../support/tls.js";

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
  /** The hard limit of its open files. Default: that of this process. */
  readonly openFilesMax?: number | undefined;
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
export async function startProxy(name: ProxyName, setting: ProxySetting): Promise<ProxyProcess> {
  const { config, files = {}, port, openFilesMax } = setting;
  const program = programOf(name);
  if (program === undefined) throw new Error(`${name} is not installed`);
  const folder = mkdtempSync(join(tmpdir(), `trivium-${name}-`));
  const { file, args } = programs[name];
  for (const [path, text] of Object.entries({ ...files, [file]: config })) writeFileSync(join(folder, path), text);
  const limit = openFilesMax === undefined ? "" : `ulimit -n ${openFilesMax} 2>/dev/null; `;
  const command = spawn("sh", ["-c", `${limit}exec "$@"`, "sh", program, ...args(join(folder, file))], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
  });
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

/** How the address at which a proxy listens, and those of its replicas, are written in its file. */
const addresses = {
  haproxy: { own: "bind :443", at: (port: number) => `bind 127.0.0.1:${port}`, replica: portedAddress },
  nginx: { own: "listen 443", at: (port: number) => `listen 127.0.0.1:${port}`, replica: portedAddress },
  envoy: {
    own: envoyAddress("0.0.0.0", 443),
    at: (port: number) => envoyAddress("127.0.0.1", port),
    replica: envoyAddress,
  },
} satisfies Record<ProxyName, unknown>;

function portedAddress(host: string, port: number): string {
  return `${host}:${port}`;
}

function envoyAddress(host: string, port: number): string {
  return `address: ${host}, port_value: ${port}`;
}

/** The configuration of `deploy/` as it is, except for its addresses. It has three replicas: `agents`, in turn. */
export function shippedConfig(name: ProxyName, port: number, agents: readonly number[]): string {
  const { own, at, replica } = addresses[name];
  const text = readFileSync(deployFile(programs[name].file), "utf8");
  if (!text.includes(own)) throw new Error(`${programs[name].file} does not have "${own}"`);
  // Several may run on one machine.
  const atPort = text.replace(own, at(port)).replaceAll("abns@agents", `abns@agents-${port}`);
  return [1, 2, 3].reduce((config, number) => {
    const address = replica(`10.0.0.1${number}`, 8080);
    if (!config.includes(address)) throw new Error(`${programs[name].file} does not have "${address}"`);
    return config.replaceAll(address, replica("127.0.0.1", agents[(number - 1) % agents.length] ?? 0));
  }, atPort);
}

/** The certificate of `localhost`, under the names that the configurations of `deploy/` have for it. */
export const shippedFiles = {
  "cert.pem": localTls.cert,
  "key.pem": localTls.key,
  "agents.pem": localTls.cert + localTls.key,
};

/** The path of a file of `deploy/`. */
export const deployFile = (name: string): string => fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url));
