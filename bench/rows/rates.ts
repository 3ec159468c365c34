import { type Server, startServer } from "../child.ts";
import { cpuProbe, type Work } from "../cpu-probe.ts";
import { createHttpLoader } from "../load/http.ts";
import { type Effort, type Row, scaleCount } from "../row.ts";
import { assertReply, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "../wire.ts";

/** What rate limits per caller cost. */
export function rateRows(effort: Effort): readonly Row[] {
  const size = { warmUp: scaleCount(20_000, effort, 1_000), count: scaleCount(6_000, effort) };
  return [
    {
      name: "JSON-RPC message under five limits of its caller",
      unit: "µs",
      what: "CPU time of the server per JSON-RPC message, 16 in flight, counted in memory. Floor: the same call without `rate`",
      budgets: [{ of: "floor", atMost: 1.2 }],
      start: {
        floor: () => cpuProbe("ours", messages, size),
        ours: () => cpuProbe(() => startServer("ours-rates.ts"), messages, size),
      },
    },
  ];
}

function messages({ http }: Server): Work {
  const call = jsonRpcCall("SendMessage", (n) => sendParams("message", n));
  const check = (body: string, n: number) => assertReply(jsonRpcResult<PayloadJson>(body, n));
  return createHttpLoader({ port: http, call, check });
}
