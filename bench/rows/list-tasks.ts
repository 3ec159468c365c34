import type { Server } from "../child.ts";
import { cpuProbe, type Work } from "../cpu-probe.ts";
import { createHttpLoader, post } from "../load/http.ts";
import { type Effort, type Row, type Side, scaleCount } from "../row.ts";
import { assertTask, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams, type TaskJson } from "../wire.ts";

interface PageJson {
  readonly tasks: readonly TaskJson[];
  readonly nextPageToken: string;
  readonly totalSize: number;
}

const total = 10_000;
const pageSize = 100;

/** A page of 100 tasks among 10,000, walking from the newest on. */
export function listTasksRows(effort: Effort): readonly Row[] {
  const pages = scaleCount(80, effort);
  const start = (side: Side) => () => cpuProbe(side, listPages, { warmUp: pages, count: pages });
  return [
    {
      name: "page (100) of ListTasks among 10,000 tasks",
      unit: "µs",
      what: "CPU time of the server per page over JSON-RPC, pages walked by their tokens, no history and no artifacts",
      budgets: [{ of: "peer", atMost: 0.25 }],
      start: { floor: start("floor"), ours: start("ours"), peer: start("peer") },
    },
  ];
}

async function listPages({ http: port }: Server): Promise<Work> {
  await makeTasks(port);
  return { run: (count) => walk(port, count), [Symbol.dispose]: () => {} };
}

async function makeTasks(port: number): Promise<void> {
  const check = (body: string, n: number) => assertTask(jsonRpcResult<PayloadJson>(body, n));
  using loader = createHttpLoader({ port, call: jsonRpcCall("SendMessage", (n) => sendParams("task", n)), check });
  await loader.run(total);
}

async function walk(port: number, pages: number): Promise<void> {
  const taskIds = new Set<string>();
  let pageToken = "";
  for (let page = 1; page <= pages; page++) {
    const filter = { pageSize, historyLength: 0, includeArtifacts: false };
    const params = pageToken ? { ...filter, pageToken } : filter;
    const { tasks, nextPageToken, totalSize } = jsonRpcResult<PageJson>(
      await post(
        port,
        jsonRpcCall("ListTasks", () => params),
        page,
      ),
      page,
    );
    for (const { id } of tasks) taskIds.add(id ?? "");
    if (totalSize !== total || tasks.length !== pageSize || !nextPageToken) throw new Error(`page ${page} is wrong`);
    pageToken = nextPageToken;
  }
  if (taskIds.size !== pages * pageSize) throw new Error(`${taskIds.size} different tasks on ${pages} pages`);
}
