import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { accessSync, chownSync, constants, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { fixedPort } from "./fixed-port.js";
import { exitOf, killed, owned } from "./owned.js";
import { hasPostgres, serverUser } from "./postgres.js";

/** When a server connection goes to another client: when its client leaves, or after each transaction. */
export type PoolMode = "session" | "transaction";

/** A PgBouncer before a PostgreSQL server of the tests. */
export interface PgBouncer extends AsyncDisposable {
  /** The URL of a database of that server, through the pooler. */
  urlFor(databaseUrl: string): string;
  /** Asks its administration console. */
  ask(text: string): Promise<readonly Record<string, unknown>[]>;
}

export interface PgBouncerOptions {
  readonly mode: PoolMode;
  /** Users of the server besides `postgres` that may connect, without a password. */
  readonly users?: readonly string[] | undefined;
  /** Settings of `pgbouncer.ini`. The defaults are those of PgBouncer. */
  readonly settings?: Readonly<Record<string, string | number>> | undefined;
}

const program = findProgram();

/** Whether PgBouncer and PostgreSQL are installed. Required in CI. */
export const hasPgBouncer = hasPostgres && program !== undefined;

if (program === undefined) {
  const line = "no PgBouncer: its tests are skipped (test/postgres/setup.sh, or TRIVIUM_PGBOUNCER names the program)";
  if (process.env["CI"] === "true") throw new Error(line);
  process.stderr.write(`${line}\n`);
}

/** Whether this release keeps track of prepared statements in transaction mode, as those from 1.21 do. */
export const tracksPreparedStatements = program !== undefined && releaseOf(program) >= 1021;

/** Starts a PgBouncer before a server. Disposing it ends it. */
export async function startPgBouncer(serverUrl: string, options: PgBouncerOptions): Promise<PgBouncer> {
  if (program === undefined) throw new Error("PgBouncer is not installed");
  const { mode, users = [], settings = {} } = options;
  const folder = mkdtempSync(join(tmpdir(), "trivium-pgbouncer-"));
  // It refuses to run as root, as PostgreSQL does.
  const user = serverUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const port = await fixedPort();
  const own = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "trust",
    auth_file: join(folder, "users.txt"),
    admin_users: "postgres",
    max_client_conn: 1000,
    pool_mode: mode,
    ...settings,
  };
  const lines = Object.entries(own).map(([name, value]) => `${name} = ${value}`);
  const { hostname, port: serverPort } = new URL(serverUrl);
  const databases = ["[databases]", `* = host=${hostname} port=${serverPort}`];
  const config = join(folder, "pgbouncer.ini");
  writeFileSync(own.auth_file, ["postgres", ...users].map((name) => `"${name}" ""\n`).join(""));
  writeFileSync(config, [...databases, "[pgbouncer]", ...lines, ""].join("\n"));
  const child = owned(spawn(program, [config], { ...user, cwd: folder, stdio: ["ignore", "ignore", "pipe"] }), {
    folder,
  });
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output = `${output}${text}`.slice(-10_000);
  });
  const ask = async (text: string): Promise<readonly Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString: `postgres://postgres@127.0.0.1:${port}/pgbouncer` });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  };
  const end = async (): Promise<void> => {
    await killed(child);
    rmSync(folder, { recursive: true, force: true });
  };
  if (!(await Promise.race([exitOf(child).then(() => false), answers(child, () => ask("show version"))]))) {
    await end();
    throw new Error(`PgBouncer does not start:\n${output}`);
  }
  return {
    urlFor(databaseUrl) {
      const url = new URL(databaseUrl);
      url.port = `${port}`;
      return url.href;
    },
    ask,
    [Symbol.asyncDispose]: end,
  };
}

async function answers(child: ChildProcess, ask: () => Promise<unknown>): Promise<boolean> {
  while (child.exitCode === null && child.signalCode === null) {
    try {
      await ask();
      return true;
    } catch {
      await setTimeout(20);
    }
  }
  return false;
}

function findProgram(): string | undefined {
  const named = process.env["TRIVIUM_PGBOUNCER"];
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
  const places = named === undefined ? folders.map((folder) => join(folder, "pgbouncer")) : [named];
  return places.find(isProgram);
}

/** 1.18 is 1018. */
function releaseOf(path: string): number {
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(execFileSync(path, ["--version"], { encoding: "utf8" })) ?? [];
  return Number(major) * 1000 + Number(minor);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
