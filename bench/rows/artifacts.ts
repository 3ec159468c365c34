import { startServer } from "../child.ts";
import { cpuProbe, type Work } from "../cpu-probe.ts";
import { createHttpLoader } from "../load/http.ts";
import { type Budget, type Effort, type Row, scaleCount } from "../row.ts";
import { jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "../wire.ts";

/** What an artifact of the larger task may cost, as a multiple of one of the smaller: flat, with room for noise. */
const flat = 1.25;
const counts = [500, 10_000] as const;

/** One of many artifacts of a task, in memory and with conversations: it costs the same however many there are. */
export function artifactRows(effort: Effort): readonly Row[] {
  return counts.map((count) => row(count, effort));
}

function row(artifacts: number, effort: Effort): Row {
  const tasks = scaleCount(40_000 / artifacts, effort, 2);
  const size = { warmUp: tasks, count: tasks, perUnit: artifacts };
  const smaller: Budget = { of: "row", row: rowName(counts[0]), atMost: flat };
  return {
    name: rowName(artifacts),
    unit: "µs",
    what: "CPU time of the server per artifact of one byte, until the caller has the task with all of them",
    budgets: artifacts > counts[0] ? [smaller] : [],
    start: {
      ours: () =>
        cpuProbe(
          () => startServer("ours-guarded.ts"),
          (server) => taskOf(server, artifacts),
          size,
        ),
    },
  };
}

function rowName(artifacts: number): string {
  return `artifact, task of ${artifacts.toLocaleString("en")}`;
}

function taskOf({ http: port }: { readonly http: number }, artifacts: number): Work {
  const call = jsonRpcCall("SendMessage", (n) => sendParams(`task ${artifacts} 1`, n));
  const check = (body: string, n: number): void => {
    const { task } = jsonRpcResult<PayloadJson>(body, n);
    if (task?.artifacts?.length !== artifacts) throw new Error(`a task of ${task?.artifacts?.length} artifacts`);
  };
  return createHttpLoader({ port, call: { ...call, headers: () => "authorization: Bearer owner\r\n" }, check }, 1);
}
