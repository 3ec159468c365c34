import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
// The extension is `.ts` because the benchmarks run this file directly under Node.
import { fixedPort } from "./fixed-port.ts";
import { exitOf, type Ownership, owned } from "./owned.ts";

/** How a server stops: when its clients are gone, after rolling back their transactions, or as in a crash. */
type StopMode = "smart" | "fast" | "immediate";

/** A PostgreSQL server for tests: its own cluster in a temporary folder, on a free port, without authentication. */
export interface PostgresServer extends AsyncDisposable {
  /** Its database `postgres`, for statements about the whole server. */
  readonly url: string;
  readonly port: number;
  /** Creates an empty database, or a copy of one that has no connections, and returns its URL. */
  createDatabase(template?: string): Promise<string>;
  /** Runs SQL as the superuser, in the database `postgres` unless a URL is given. */
  query(text: string, values?: readonly unknown[], url?: string): Promise<readonly Record<string, unknown>[]>;
  /** Stops the server; default: `fast`. */
  stop(mode?: StopMode): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
  /** Kills it like a machine crash. Writes that were not acknowledged may be lost. */
  kill(): Promise<void>;
}

export interface PostgresServerOptions extends Pick<Ownership, "until"> {
  /** Settings of `postgresql.conf`. The defaults are as durable as in production. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

const bin = findBin();

/** Whether a PostgreSQL server is installed. Required in CI. */
export const hasPostgres = bin !== undefined;

if (!hasPostgres) {
  const line =
    "no PostgreSQL server: its tests are skipped (test/postgres/setup.sh, or TRIVIUM_POSTGRES_BIN names its programs)";
  if (process.env["CI"] === "true") throw new Error(line);
  process.stderr.write(`${line}\n`);
}

/** How long creating and starting a server may take on a busy machine, for the hooks that do it. */
export const startTimeoutMs = 90_000;

/** Starts a server. Disposing it stops it and removes its files. It ends with the file of tests, or with this process. */
export async function startPostgres({ settings = {}, until }: PostgresServerOptions = {}): Promise<PostgresServer> {
  if (bin === undefined) throw new Error("no PostgreSQL server is installed");
  const folder = mkdtempSync(join(tmpdir(), "trivium-postgres-"));
  const user = serverUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const place = { bin, folder, data, user, settings, until };
  createCluster(place);
  const server = new Server(place);
  await server.start();
  return server;
}

/** Copies a new cluster, which `initdb` makes only the first time: it takes ten times as long as the copy. */
function createCluster({ bin, folder, data, user }: Place): void {
  const run = (program: string, args: readonly string[], as?: ServerUser): string =>
    execFileSync(program, args, { ...as, cwd: folder, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
  const initdb = join(bin, "initdb");
  const key = `${run(initdb, ["--version"])}-${user?.uid ?? ""}`.replaceAll(/[^\w.]+/g, "-");
  const cluster = fileURLToPath(new URL(`../../.cache/clusters/${key}`, import.meta.url));
  if (existsSync(cluster)) {
    run("cp", ["-a", cluster, data]);
    return;
  }
  run(initdb, ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"], user);
  mkdirSync(dirname(cluster), { recursive: true });
  const draft = `${cluster}.${process.pid}`;
  run("cp", ["-a", data, draft]);
  try {
    renameSync(draft, cluster);
  } catch {
    // Another process was faster.
    rmSync(draft, { recursive: true });
  }
}

let sharedServer: Promise<PostgresServer> | undefined;

/** A server that several test files use. They do not stop it: it ends with this process. */
export type SharedPostgres = Pick<PostgresServer, "url" | "createDatabase" | "query">;

/** Returns the server that the tests of this process share. It has no `fsync`, since none of them crashes it. */
export function sharedPostgres(): Promise<SharedPostgres> {
  sharedServer ??= startPostgres({ settings: { fsync: "off" }, until: "process" });
  return sharedServer;
}

/** Feeds a script to `psql`, as a person would, without the settings of this user. */
export function runPsql(url: string, script: string): Promise<void> {
  return new Promise((resolve) => {
    // Without `ON_ERROR_STOP` it goes on after an error.
    const args = ["--no-psqlrc", "--quiet", url];
    const child = owned(spawn(join(bin ?? "", "psql"), args, { stdio: ["pipe", "ignore", "ignore"] }));
    child.once("close", () => resolve());
    child.stdin.end(script);
  });
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
  readonly until: Ownership["until"];
}

const stopSignals = { smart: "SIGTERM", fast: "SIGINT", immediate: "SIGQUIT" } as const;

class Server implements PostgresServer {
  readonly #place: Place;
  #port = 0;
  #process: ChildProcess | undefined;
  #output = "";
  #databases = 0;
  #isStarted = false;
  #isOver = false;

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
    // A stopping server reports it to idle clients too; the query fails by itself.
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
    // The port may have been taken meanwhile, and processes of a killed server need a moment to exit.
    while (!(await this.#tryStart())) {
      if (this.#isOver) throw new Error("PostgreSQL is started after its end");
      if (Date.now() > deadline) throw new Error(`PostgreSQL does not start:\n${this.#output}`);
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
    this.#isOver = true;
    await this.#end("SIGQUIT");
    rmSync(this.#place.folder, { recursive: true, force: true, maxRetries: 10 });
  }

  #urlOf(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.#port}/${database}`;
  }

  /** Starts the server and waits until it accepts connections. False if it exited first. */
  async #tryStart(): Promise<boolean> {
    const { bin, folder, data, user, settings, until } = this.#place;
    if (!this.#isStarted) this.#port = await fixedPort();
    const all = { listen_addresses: "127.0.0.1", port: `${this.#port}`, unix_socket_directories: "", ...settings };
    const options = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const server = spawn(join(bin, "postgres"), ["-D", data, ...options], {
      ...user,
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const child = owned(server, { until, signal: "SIGQUIT", folder });
    this.#output = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#output = (this.#output + text).slice(-10_000);
    });
    const exit = exitOf(child).then(() => false);
    if (!(await Promise.race([exit, this.#answers(child)]))) return false;
    this.#isStarted = true;
    this.#process = child;
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
    child.kill(signal);
    await exitOf(child);
  }
}

/** PostgreSQL refuses to run as root, so it gets an unprivileged user. */
export function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    try {
      const [uid, gid] = ["-u", "-g"].map((which) => Number(execFileSync("id", [which, name], { stdio: "pipe" })));
      if (uid !== undefined && gid !== undefined) return { uid, gid };
    } catch {
      // No such user: try the next one.
    }
  }
  throw new Error("PostgreSQL is not run by root, and there is neither a user postgres nor nobody");
}

function findBin(): string | undefined {
  const binFromEnv = process.env["TRIVIUM_POSTGRES_BIN"];
  const folders =
    binFromEnv === undefined ? [...debianFolders(), ...(process.env["PATH"] ?? "").split(delimiter)] : [binFromEnv];
  return folders.find((folder) => ["initdb", "postgres"].every((name) => isProgram(join(folder, name))));
}

/** Debian's folders, newest release first. */
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
