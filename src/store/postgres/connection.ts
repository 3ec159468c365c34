import { createHash } from "node:crypto";
import type pg from "pg";
import { longestTimerMs } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { readErrorMessage } from "../../protocol/errors.js";
import { bundleFault } from "../../protocol/load-package.js";
import { StoreError } from "../sql/store-error.js";
import type { ConnectOptions } from "./settings.js";
import { textFromDatabase } from "./text.js";

// Connections to a database, directly or through a pooler. A connection opens only with parameters that every pooler
// accepts. Poolers would refuse time limits there, so they are set afterwards. A pooler in transaction mode may run each
// transaction in the session of another server process, which later serves another client. Such a connection sets nothing
// that outlives its transaction, and by default its statements have no names.

type Pg = typeof pg;

/** Loads the driver, an optional peer dependency. */
export async function loadPg(load: () => Promise<{ readonly default: Pg }> = () => import("pg")): Promise<Pg> {
  try {
    return (await load()).default;
  } catch (cause) {
    const message = bundleFault("pg", cause)?.message ?? 'trivium/postgres needs the package "pg": npm install pg';
    throw new StoreError("unusable", message, { cause });
  }
}

/**
 * How a connection reaches the sessions of the server: `direct`, its own; `session`, one that a pooler lends it until it
 * closes; `transaction`, one for each transaction.
 */
export type ConnectionMode = "direct" | "session" | "transaction";

/** The session of an open connection. */
export interface Session {
  readonly mode: ConnectionMode;
  /** The server process behind it; `undefined` if it may change with each transaction. */
  readonly processId: number | undefined;
}

/** A connection that is ready once it is connected. */
export interface StoreClient extends pg.Client {
  /** Known once it is connected. */
  readonly session: Session;
}

/** Makes connections that know their mode. The mode of a database's pooler is detected once for all of them. */
export interface Connector {
  /** For a pool of the driver. */
  readonly clientClass: new (
    config?: string | pg.ClientConfig,
  ) => StoreClient;
  readonly config: pg.ClientConfig;
  /** Connects. A connection that is not ready is closed. */
  connect(): Promise<StoreClient>;
}

/** The mode of the pooler in front of one database. */
export interface PoolerMode {
  /** Finds whether the pooler that `client` is connected to, now served by `processId`, keeps its sessions. */
  find(
    client: pg.ClientBase,
    processId: number,
    openOther: () => Promise<pg.Client>,
  ): Promise<"session" | "transaction">;
  /** Corrects the mode: a client of the pooler has not kept its session. */
  correct(): void;
}

/** `onFind`: called once, with the detected mode. */
export function createPoolerMode(onFind: (mode: "session" | "transaction") => void = noop): PoolerMode {
  let finding: Promise<"session" | "transaction"> | undefined;
  let isCorrected = false;
  return {
    async find(client, processId, openOther) {
      finding ??= compareProcesses(client, processId, openOther).then((mode) => {
        onFind(mode);
        return mode;
      });
      const current = finding;
      try {
        return await current;
      } catch (error) {
        // The next connection tries again.
        if (finding === current) finding = undefined;
        throw error;
      }
    },
    correct() {
      if (isCorrected) return;
      isCorrected = true;
      finding = Promise.resolve("transaction");
      onFind("transaction");
    },
  };
}

/** How often two clients are compared. The first comparison detects a pooler in transaction mode, unless it is busy. */
const comparisons = 3;

/**
 * If one process serves two clients, or two processes serve one, the clients have no sessions of their own. Each client
 * asks twice in a row: poolers lend either the connection used last or the one idle for longest.
 */
async function compareProcesses(
  client: pg.ClientBase,
  processId: number,
  openOther: () => Promise<pg.Client>,
): Promise<"session" | "transaction"> {
  let other: pg.Client | undefined;
  try {
    other = await openOther();
    if (await keepProcesses(client, processId, other)) return "session";
    await checkTransactions(other);
    return "transaction";
  } catch (cause) {
    if (cause instanceof StoreError) throw cause;
    const reason = `${readErrorMessage(cause)}: set sessions to true or false`;
    throw new StoreError("unreachable", `cannot find the mode of the pooler before the database: ${reason}`, { cause });
  } finally {
    other?.end().catch(noop);
  }
}

async function keepProcesses(client: pg.ClientBase, processId: number, other: pg.Client): Promise<boolean> {
  const otherId = await readProcessId(other);
  if (otherId === processId) return false;
  const questions = [
    { each: client, id: processId },
    { each: client, id: processId },
    { each: other, id: otherId },
    { each: other, id: otherId },
  ];
  for (const { each, id } of Array.from({ length: comparisons }, () => questions).flat()) {
    if ((await readProcessId(each)) !== id) return false;
  }
  return true;
}

/** Throws for a pooler in statement mode, which refuses transactions. */
async function checkTransactions(client: pg.Client): Promise<void> {
  try {
    await client.query("begin");
    await client.query("rollback");
  } catch (cause) {
    const reason = `${readErrorMessage(cause)}: use its session or transaction mode`;
    throw new StoreError("unusable", `the pooler before the database has no transactions: ${reason}`, { cause });
  }
}

async function readProcessId(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid ?? 0;
}

export function createConnector(driver: Pg, options: ConnectOptions, pooler: PoolerMode): Connector {
  const config = clientConfig(driver, options);

  async function begin(client: pg.Client): Promise<Session> {
    const { sessions } = options;
    if (sessions === false) return { mode: "transaction", processId: undefined };
    const announced = announcedProcessId(client);
    const processId = await applySettings(client, options, sessions === true ? undefined : announced);
    if (processId === announced) return { mode: "direct", processId };
    if (sessions === true) return { mode: "session", processId };
    const mode = await pooler.find(client, processId, openOther);
    if (mode === "session") {
      if ((await applySettings(client, options, processId)) === processId) return { mode, processId };
      pooler.correct();
    }
    return { mode: "transaction", processId: undefined };
  }

  async function openOther(): Promise<pg.Client> {
    // The pool gives up the first connection after `connectTimeoutMs`.
    const limitMs = Math.min(options.connectTimeoutMs / 2, otherTimeoutMs);
    const other = new driver.Client({ ...config, connectionTimeoutMillis: limitMs, query_timeout: limitMs });
    other.on("error", noop);
    await other.connect();
    return other;
  }

  class Client extends driver.Client implements StoreClient {
    session: Session = { mode: "transaction", processId: undefined };

    constructor(given?: string | pg.ClientConfig) {
      super(given);
      // A connection lost in use fails its query; its error event has no other listener.
      this.on("error", noop);
    }

    override connect(): Promise<this>;
    override connect(callback: (error: Error | null, client?: this) => void): void;
    override connect(callback?: (error: Error | null, client?: this) => void): Promise<this> | undefined {
      const ready = this.#open();
      if (callback === undefined) return ready;
      ready.then(
        (client) => callback(null, client),
        (error: Error) => callback(error),
      );
      return undefined;
    }

    async #open(): Promise<this> {
      try {
        await super.connect();
        this.session = await begin(this);
      } catch (error) {
        this.end().catch(noop);
        throw explainRefusal(error);
      }
      return this;
    }
  }

  return { clientClass: Client, config, connect: () => new Client(config).connect() };
}

/** Parameters for all statements of a session. */
interface Settings {
  readonly statement_timeout: number;
  readonly idle_in_transaction_session_timeout: number;
}

function chooseLimits({ statementTimeoutMs }: ConnectOptions): Settings {
  return {
    statement_timeout: statementTimeoutMs ?? 0,
    // A process that stalls within a transaction must not keep its tasks from others.
    idle_in_transaction_session_timeout: Math.min(statementTimeoutMs ?? noTimeoutMs, 10_000),
  };
}

/**
 * By default PostgreSQL plans a prepared statement again whenever its arrays are shorter than expected. Planning a small
 * flush costs more than running it: two processes then cost two to three times as much. Other planner settings stay: each
 * query plans well without them.
 */
const planning = { plan_cache_mode: "force_generic_plan" };

// With an expected process, sets nothing in the session of another one, which soon serves another client. The connection
// string's own setting for plans takes precedence.
const settingsText = `
select pg_backend_pid() as pid, (
  select count(set_config(name, wanted.value, false))
  from pg_settings join unnest($2::text[], $3::text[]) as wanted(name, value) using (name)
  where ($1::int is null or $1 = pg_backend_pid()) and (source <> 'client' or name <> 'plan_cache_mode')
) as applied`;

/** Returns the process that serves the client. */
async function applySettings(
  client: pg.Client,
  options: ConnectOptions,
  expectedId: number | undefined,
): Promise<number> {
  const settings = { ...chooseLimits(options), ...planning };
  const values = [expectedId ?? null, Object.keys(settings), Object.values(settings).map(String)];
  const { rows } = await client.query<{ pid: number }>(settingsText, values);
  return rows[0]?.pid ?? 0;
}

/**
 * The text that begins a transaction of a connection without a session. It sets the time limits for the transaction.
 */
export function beginText(text: string, options: ConnectOptions): string {
  const limits = Object.entries(chooseLimits(options)).map(([name, ms]) => `set local ${name} = ${ms}`);
  return [text, ...limits].join("; ");
}

/**
 * Names a statement after its text. Behind a pooler, a process may run a statement that another one has prepared, so a name
 * must always mean the same statement.
 */
export function statementName(text: string): string {
  return `trivium_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}

/** The process id that the server reported on connecting. A pooler reports one that does not exist. */
function announcedProcessId(client: pg.Client): number {
  return "processID" in client && typeof client.processID === "number" ? client.processID : 0;
}

/** Adds the remedy to the error for a parameter of the connection string that a pooler does not know. */
function explainRefusal(error: unknown): unknown {
  const reason = readErrorMessage(error);
  if (!reason.includes("unsupported startup parameter")) return error;
  const remedy = "remove it from the url, and set it for the role or have the pooler ignore it";
  return new StoreError("unusable", `the pooler before the database refuses the connection: ${reason}: ${remedy}`, {
    cause: error,
  });
}

/** The settings of one connection. */
function clientConfig(driver: Pg, options: ConnectOptions): pg.ClientConfig {
  const { url, connectTimeoutMs } = options;
  return {
    connectionString: url,
    types: { getTypeParser: typeParsers(driver) },
    // A middlebox may drop a connection that is silent, as during a long statement.
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: clientTimeoutMs(options),
  };
}

/** The client waits longer than the server, since the server's error says more. */
export function clientTimeoutMs({ statementTimeoutMs }: ConnectOptions): number {
  return statementTimeoutMs === undefined ? noTimeoutMs : statementTimeoutMs + graceMs;
}

/** A pooler whose sessions are all in use makes a second client wait. */
const otherTimeoutMs = 3_000;
const graceMs = 5_000;
const noTimeoutMs = 2 ** 31 - 1;
const [int8, text, numeric] = [20, 25, 1700];

/** Integers and their sums become plain numbers: none here approaches 2^53. */
function typeParsers({ types }: Pg): pg.CustomTypesConfig["getTypeParser"] {
  return (oid, format) => {
    if (format === "binary") return types.getTypeParser(oid, format);
    if (oid === int8 || oid === numeric) return Number;
    return oid === text ? textFromDatabase : types.getTypeParser(oid);
  };
}

/**
 * Keeps the process alive until `run` is done. Connections do not, so a process with nothing else to do would exit
 * while closing them.
 */
export async function keepAlive<T>(run: () => Promise<T>): Promise<T> {
  const timer = setInterval(noop, longestTimerMs);
  try {
    return await run();
  } finally {
    clearInterval(timer);
  }
}
