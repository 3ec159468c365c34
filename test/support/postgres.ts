import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, chownSync, constants, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
// With the name that Node knows it by: the benchmarks run this file as it is.
import { fixedPort } from "./fixed-port.ts";

/** How a server is stopped: once its clients have gone, after their transactions were rolled back, or as by a crash. */
type StopMode = "smart" | "fast" | "immediate";

/** A PostgreSQL of the tests: a cluster of its own in a temporary folder, on a free port, that anybody may enter. */
export interface PostgresServer extends AsyncDisposable {
  /** Its database `postgres`, for what concerns the whole server. */
  readonly url: string;
  readonly port: number;
  /** Makes an empty database, or a copy of another that nobody uses, and gives its URL. */
  createDatabase(template?: string): Promise<string>;
  /** Runs SQL as the superuser, in the database `postgres` unless another URL is named. */
  query(text: string, values?: readonly unknown[], url?: string): Promise<readonly Record<string, unknown>[]>;
  /** Stops the server; default: `fast`. */
  stop(mode?: StopMode): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
  /** Kills it as a crash of the machine would. What its clients have not been told of may be lost. */
  kill(): Promise<void>;
}

export interface PostgresServerOptions {
  /** Settings of `postgresql.conf`. Durable like a server in use unless they say otherwise. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

const bin = findBin();

/** Whether there is a server to test with. CI has to have one. */
export const hasPostgres = bin !== undefined;

if (!hasPostgres) {
  const line =
    "no PostgreSQL server: its tests are skipped (test/postgres/setup.sh, or TRIVIUM_POSTGRES_BIN names its programs)";
  if (process.env["CI"] === "true") throw new Error(line);
  process.stderr.write(`${line}\n`);
}

/** How long a server may take to be made and started on a machine that is busy: for the hooks that do it. */
export const startTimeoutMs = 90_000;

/** Starts a server; disposing of it stops it and removes its files. It does not outlive this process. */
export async function startPostgres({ settings = {} }: PostgresServerOptions = {}): Promise<PostgresServer> {
  if (bin === undefined) throw new Error("no PostgreSQL server is installed");
  const folder = mkdtempSync(join(tmpdir(), "trivium-postgres-"));
  const user = serverUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const initial = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  execFileSync(join(bin, "initdb"), initial, { ...user, cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  const server = new Server({ bin, folder, data, user, settings });
  await server.start();
  return server;
}

interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

interface Place {
  readonly bin: string;
  readonly folder: string;
  readonly data: string;
  readonly user: ServerUser | undefined;
  readonly settings: Readonly<Record<string, string>>;
}

const stopSignals = { smart: "SIGTERM", fast: "SIGINT", immediate: "SIGQUIT" } as const;

class Server implements PostgresServer {
  readonly #place: Place;
  #port = 0;
  #process: ChildProcess | undefined;
  #guard: ChildProcess | undefined;
  #said = "";
  #databases = 0;
  #started = false;

  constructor(place: Place) {
    this.#place = place;
  }

  get url(): string {
    return this.#urlOf("postgres");
  }

  get port(): number {
    return this.#port;
  }

  async createDatabase(template = "template0"): Promise<string> {
    this.#databases += 1;
    const name = `test_${this.#databases}`;
    const source = template.startsWith("postgres:") ? new URL(template).pathname.slice(1) : template;
    await this.query(`create database ${name} template ${source}`);
    return this.#urlOf(name);
  }

  async query(text: string, values?: readonly unknown[], url = this.url) {
    const client = new pg.Client({ connectionString: url });
    // A server that goes away says so to its clients at any moment; the query fails by itself.
    client.on("error", () => {});
    await client.connect();
    try {
      const { rows } = await client.query<Record<string, unknown>>(text, values?.slice());
      return rows;
    } finally {
      await client.end();
    }
  }

  async start(): Promise<void> {
    const deadline = Date.now() + startTimeoutMs;
    // A port may have been taken since it was found, and the processes of a server that was killed need a moment to go.
    while (!(await this.#tryStart())) {
      if (Date.now() > deadline) throw new Error(`PostgreSQL does not start:\n${this.#said}`);
      await setTimeout(50);
    }
  }

  async stop(mode: StopMode = "fast"): Promise<void> {
    await this.#end(stopSignals[mode]);
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end("SIGQUIT");
    rmSync(this.#place.folder, { recursive: true, force: true, maxRetries: 10 });
  }

  #urlOf(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/${database}`;
  }

  /** Starts the server and waits until it takes connections; false when it has ended before. */
  async #tryStart(): Promise<boolean> {
    const { bin, folder, data, user, settings } = this.#place;
    if (!this.#started) this.#port = await fixedPort();
    const all = { listen_addresses: "127.0.0.1", port: `${this.#port}`, unix_socket_directories: "", ...settings };
    const options = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(join(bin, "postgres"), ["-D", data, ...options], {
      ...user,
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const guard = guardOf(child, folder);
    this.#said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#said = (this.#said + text).slice(-10_000);
    });
    const ended = once(child, "exit").then(() => false);
    if (!(await Promise.race([ended, this.#answers(child)]))) {
      guard.kill("SIGKILL");
      return false;
    }
    this.#started = true;
    this.#process = child;
    this.#guard = guard;
    return true;
  }

  async #answers(child: ChildProcess): Promise<boolean> {
    while (child.exitCode === null && child.signalCode === null) {
      try {
        await this.query("select 1");
        return true;
      } catch {
        await setTimeout(20);
      }
    }
    return false;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    this.#process = undefined;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
    this.#guard?.kill("SIGKILL");
  }
}

const guarding = 'read -r _; kill -QUIT "$1"; while kill -0 "$1" 2>/dev/null; do sleep 0.1; done; rm -rf "$2"';

/** Ends the server, and removes its files, when this process has gone without doing so: the pipe closes then. */
function guardOf({ pid }: ChildProcess, folder: string): ChildProcess {
  return spawn("sh", ["-c", guarding, "sh", `${pid}`, folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
}

/** The server refuses to be run by root: it gets a user that has no rights. */
function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    try {
      const [uid, gid] = ["-u", "-g"].map((which) => Number(execFileSync("id", [which, name], { stdio: "pipe" })));
      if (uid !== undefined && gid !== undefined) return { uid, gid };
    } catch {
      // No such user: the next one.
    }
  }
  throw new Error("PostgreSQL is not run by root, and there is neither a user postgres nor nobody");
}

function findBin(): string | undefined {
  const named = process.env["TRIVIUM_POSTGRES_BIN"];
  const folders = named === undefined ? [...debianFolders(), ...(process.env["PATH"] ?? "").split(delimiter)] : [named];
  return folders.find((folder) => ["initdb", "postgres"].every((name) => isProgram(join(folder, name))));
}

/** Where Debian keeps them, the newest release first. */
function debianFolders(): string[] {
  const root = "/usr/lib/postgresql";
  try {
    const releases = readdirSync(root).toSorted((a, b) => Number(b) - Number(a));
    return releases.map((release) => join(root, release, "bin"));
  } catch {
    return [];
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
