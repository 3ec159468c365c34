import type { Server } from "../child.ts";
import { cpuProbe, type Work } from "../cpu-probe.ts";
import { bytesOf, commitsTo, type FileSide, startOnFile, temporaryFolder } from "../files.ts";
import { createHttpLoader, post } from "../load/http.ts";
import { type Budget, type Effort, type Probe, type Row, scaleCount } from "../row.ts";
import {
  assertTask,
  jsonRpcCall,
  jsonRpcResult,
  type PayloadJson,
  sendParams,
  type TaskJson,
  textOf,
} from "../wire.ts";
import { sseStream } from "./chunk.ts";

/** What a longer stream may cost per chunk, as a multiple of the shortest: flat, with room for noise. */
const flat = 1.25;
const long = 100_000;

/**
 * What it costs to keep tasks in a file of SQLite. Floor: the same server with its tasks in memory. Peer: the SDK with its
 * own store on SQLite. All with WAL; `synchronous` is NORMAL unless a row says FULL.
 */
export function durableRows(effort: Effort): readonly Row[] {
  return [
    ...[1_000, long].map((length) => chunkRow(length, effort)),
    taskRow("ours", effort),
    taskRow("ours FULL", effort),
    commitsRow(16, effort),
    commitsRow(1, effort),
    getTaskRow(effort),
    sizeOfTaskRow(effort),
    sizeOfEventRow(effort),
  ];
}

function chunkRow(length: number, effort: Effort): Row {
  const streams = length === long ? 1 : scaleCount(20_000 / length, effort, 2);
  const size = { warmUp: length === long ? 0 : streams, count: streams, perUnit: length };
  const work = (server: Server) => sseStream(server, length);
  const peer = () => cpuProbe(() => startOnFile("peer"), work, { warmUp: 0, count: 1, perUnit: length });
  const budgets: Budget[] = [{ of: "floor", atMost: 2 }];
  if (length > 1_000) budgets.push({ of: "row", row: chunkName(1_000), atMost: flat });
  return {
    name: chunkName(length),
    unit: "µs",
    what: "CPU time of the server, all threads, per chunk of 200 bytes over SSE; every chunk is checked. Floor: in memory",
    budgets,
    start: {
      floor: () => cpuProbe("ours", work, size),
      ours: () => cpuProbe(() => startOnFile("ours"), work, size),
      ...(length === 1_000 ? { peer } : {}),
    },
    maxRounds: { peer: 1 },
  };
}

function chunkName(length: number): string {
  return `SQLite: chunk, stream of ${length.toLocaleString("en")}`;
}

function taskRow(side: FileSide, effort: Effort): Row {
  const size = { warmUp: scaleCount(40_000, effort, 3_000), count: scaleCount(6_000, effort) };
  const peer = () => cpuProbe(() => startOnFile("peer"), tasksOf, size);
  const isFull = side === "ours FULL";
  return {
    name: `SQLite: task of 3 events${isFull ? ", synchronous FULL" : ""}`,
    unit: "µs",
    what: "CPU time of the server, all threads, per JSON-RPC call, 16 in flight. Floor: in memory",
    budgets: isFull ? [] : [{ of: "peer", atMost: 0.25 }],
    start: {
      floor: () => cpuProbe("ours", tasksOf, size),
      ours: () => cpuProbe(() => startOnFile(side), tasksOf, size),
      ...(isFull ? {} : { peer }),
    },
  };
}

function commitsRow(inFlight: number, effort: Effort): Row {
  const count = scaleCount(2_000, effort);
  const probe = (side: FileSide) => async (): Promise<Probe> => {
    await using opening = new AsyncDisposableStack();
    const server = opening.use(await startOnFile(side));
    const { run } = opening.use(tasksOf(server, inFlight));
    await run(200);
    const resources = opening.move();
    return {
      measure: async () => {
        const before = await commitsTo(server.file);
        await run(count);
        return ((await commitsTo(server.file)) - before) / count;
      },
      [Symbol.asyncDispose]: () => resources.disposeAsync(),
    };
  };
  return {
    name: `SQLite: commits per task of 3 events, ${inFlight} in flight`,
    unit: "commits",
    what: "transactions committed to the file, as its WAL index counts them, per JSON-RPC call",
    budgets: [],
    start: { ours: probe("ours"), peer: probe("peer") },
  };
}

function tasksOf({ http: port }: Server, inFlight = 16): Work {
  const check = (body: string, n: number) => assertTask(jsonRpcResult<PayloadJson>(body, n));
  return createHttpLoader({ port, call: jsonRpcCall("SendMessage", (n) => sendParams("task", n)), check }, inFlight);
}

/** One task that holds everything that a long stream has said. */
function getTaskRow(effort: Effort): Row {
  const chunks = effort.quick ? long / 4 : long;
  const work = async (server: Server): Promise<Work> => {
    using stream = sseStream(server, chunks);
    await stream.run(1);
    const { http: port } = server;
    const list = jsonRpcCall("ListTasks", () => ({ pageSize: 1 }));
    const { tasks } = jsonRpcResult<{ readonly tasks: readonly TaskJson[] }>(await post(port, list, 1), 1);
    const call = jsonRpcCall("GetTask", () => ({ id: tasks[0]?.id }));
    const one = async (n: number) => {
      const { artifacts } = jsonRpcResult<TaskJson>(await post(port, call, n), n);
      if (textOf(artifacts?.[0]).length !== chunks * 200) throw new Error("not the whole artifact");
    };
    return { run: (count) => times(count, one), [Symbol.dispose]: () => {} };
  };
  const size = { warmUp: 1, count: 3 };
  return {
    name: `SQLite: GetTask of ${chunks.toLocaleString("en")} events`,
    unit: "µs",
    what: "CPU time of the server, all threads, per JSON-RPC call; the answer has all chunks of 200 bytes. Floor: in memory",
    budgets: [{ of: "floor", atMost: 2 }],
    start: {
      floor: () => cpuProbe("ours", work, size),
      ours: () => cpuProbe(() => startOnFile("ours"), work, size),
    },
    maxRounds: { floor: 2, ours: 2 },
  };
}

async function times(count: number, work: (n: number) => Promise<void>): Promise<void> {
  for (let n = 1; n <= count; n++) await work(n);
}

function sizeOfTaskRow(effort: Effort): Row {
  const count = scaleCount(4_000, effort);
  return sizeRow("task of 3 events", count, async (server) => {
    using tasks = tasksOf(server);
    await tasks.run(count);
  });
}

function sizeOfEventRow(effort: Effort): Row {
  const count = scaleCount(long, effort);
  const row = sizeRow("chunk of 200 bytes", count, async (server) => {
    using stream = sseStream(server, count);
    await stream.run(1);
  });
  // The peer would need hours.
  return { ...row, start: row.start.ours === undefined ? {} : { ours: row.start.ours } };
}

function sizeRow(per: string, count: number, work: (server: Server) => Promise<void>): Row {
  const start = (side: FileSide) => async (): Promise<Probe> => ({
    measure: async () => {
      using folder = temporaryFolder();
      const file = `${folder.path}/tasks.db`;
      {
        await using server = await startOnFile(side, file);
        await work(server);
      }
      return bytesOf(file) / count;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
  return {
    name: `SQLite: size on disk per ${per}`,
    unit: "bytes",
    what: `size of the file, checkpointed, after ${count.toLocaleString("en")} of them, divided by that`,
    budgets: [],
    start: { ours: start("ours"), peer: start("peer") },
    maxRounds: { ours: 1, peer: 1 },
  };
}
