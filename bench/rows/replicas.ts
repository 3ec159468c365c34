import { readdirSync, readFileSync } from "node:fs";
import { hasPostgres, type PostgresServer, startPostgres } from "../../test/support/postgres.ts";
import { programs, type Server, startServer } from "../child.ts";
import { createHttpLoader } from "../load/http.ts";
import { type Effort, type Probe, type Row, scaleCount } from "../row.ts";
import { assertTask, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "../wire.ts";

const replicas = [1, 2, 3] as const;
const inFlight = 24;

/**
 * One, two and three processes on one PostgreSQL, durable as it comes, with the same load spread over them. On a machine
 * of few cores they share these with the database and with who makes the load: then the wall clock shows whether more
 * processes get in each other's way, not how much more they can do. Without PostgreSQL the rows are left out.
 */
export function replicaRows(effort: Effort): readonly Row[] {
  if (!hasPostgres) {
    process.stdout.write("PostgreSQL: no server is installed, its rows are left out\n");
    return [];
  }
  const count = scaleCount(4_000, effort);
  return [...replicas.map((size) => wallRow(size, count)), ...replicas.map((size) => cpuRow(size, count))];
}

function wallRow(size: number, count: number): Row {
  return {
    name: `PostgreSQL: task of 3 events, ${processes(size)}`,
    unit: "µs",
    what: `wall clock per JSON-RPC call, ${inFlight} in flight over all processes`,
    budgets: [],
    start: {
      ours: () => probe(size, async ({ run }) => (await timeOf(() => run(count))) / count),
    },
  };
}

function cpuRow(size: number, count: number): Row {
  return {
    name: `PostgreSQL: CPU of a task, ${processes(size)}`,
    unit: "µs",
    what: `CPU time of all server processes and of PostgreSQL per JSON-RPC call, ${inFlight} in flight`,
    budgets: [],
    start: {
      ours: () =>
        probe(size, async ({ run, cpu }) => {
          const before = await cpu();
          await run(count);
          return ((await cpu()) - before) / count;
        }),
    },
  };
}

function processes(size: number): string {
  return size === 1 ? "1 process" : `${size} processes`;
}

interface Replicas {
  run(count: number): Promise<void>;
  /** CPU time so far, in microseconds: of the servers, and of the database with all its processes. */
  cpu(): Promise<number>;
}

async function probe(size: number, measure: (replicas: Replicas) => Promise<number>): Promise<Probe> {
  await using opening = new AsyncDisposableStack();
  const postgres = opening.use(await startPostgres());
  const url = await postgres.createDatabase();
  const servers: Server[] = [];
  for (let startedCount = 0; startedCount < size; startedCount++) {
    servers.push(opening.use(await startServer(programs.ours, [url])));
  }
  const call = jsonRpcCall("SendMessage", (n) => sendParams("task", n));
  const check = (body: string, n: number) => assertTask(jsonRpcResult<PayloadJson>(body, n));
  const loaders = servers.map(({ http: port }) =>
    opening.use(createHttpLoader({ port, call, check }, inFlight / size)),
  );
  const run = async (count: number): Promise<void> => {
    await Promise.all(loaders.map((loader) => loader.run(Math.ceil(count / size))));
  };
  const cpu = async (): Promise<number> => {
    const ofServers = await Promise.all(servers.map((server) => server.ask("cpu")));
    return ofServers.reduce((sum, micros) => sum + micros, await cpuOfPostgres(postgres));
  };
  // Each process has code of its own to compile.
  await run(2_000 * size);
  const resources = opening.move();
  return { measure: () => measure({ run, cpu }), [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const before = performance.now();
  await work();
  return (performance.now() - before) * 1000;
}

const microsPerTick = 10_000;

/** The processes of a PostgreSQL are the children of one, whose number is the first line of a file. */
async function cpuOfPostgres(postgres: PostgresServer): Promise<number> {
  const [row] = await postgres.query("select split_part(pg_read_file('postmaster.pid'), E'\\n', 1) as pid");
  const parent = `${row?.["pid"]}`;
  if (statOf(parent) === undefined) throw new Error(`PostgreSQL is not to be seen: no process ${parent}`);
  const all = readdirSync("/proc").flatMap((pid) => (/^\d+$/.test(pid) ? (statOf(pid) ?? []) : []));
  const its = all.filter((stat) => stat.pid === parent || stat.parent === parent);
  return its.reduce((sum, { pid, own, ended }) => sum + own + (pid === parent ? ended : 0), 0) * microsPerTick;
}

interface Stat {
  readonly pid: string;
  readonly parent: string;
  /** Ticks of the process, and of its children that have ended. */
  readonly own: number;
  readonly ended: number;
}

function statOf(pid: string): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // After the name, which may hold anything, in brackets: state, parent, …, the four times.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = (index: number) => Number(fields[index]);
    return { pid, parent: fields[1] ?? "", own: ticks(11) + ticks(12), ended: ticks(13) + ticks(14) };
  } catch {
    return undefined;
  }
}
