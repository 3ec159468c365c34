import { type Server, startServer } from "../child.ts";
import { post } from "../load/http.ts";
import type { Probe, Row, Side } from "../row.ts";
import { assertReply, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "../wire.ts";

const programs = { floor: "start-floor.js", ours: "start-ours.js", peer: "start-js-sdk.js" } as const;
const call = jsonRpcCall("SendMessage", (n) => sendParams("message", n));
const runs = 3;

/** From the start of a process with one agent to its first answer. The programs are plain JavaScript: no type is stripped. */
export function startRows(): readonly Row[] {
  return [
    startRow("start to first answer, CPU time", "CPU time of the process", cpuOfStart),
    startRow("start to first answer, wall clock", "wall clock, from the fork to the answer", wallOfStart),
  ];
}

function startRow(name: string, what: string, measure: (program: string) => Promise<number>): Row {
  const start = (side: Side) => () => Promise.resolve(best(() => measure(programs[side])));
  return {
    name,
    unit: "ms",
    what: `${what}; floor: listening node:http with grpc-js loaded; the best of ${runs} starts a round`,
    budgets: [
      { of: "floor", atMost: 2.5 },
      { of: "peer", atMost: 1 },
    ],
    start: { floor: start("floor"), ours: start("ours"), peer: start("peer") },
  };
}

function best(measure: () => Promise<number>): Probe {
  return {
    measure: async () => {
      let least = Number.POSITIVE_INFINITY;
      for (let run = 0; run < runs; run++) least = Math.min(least, await measure());
      return least;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function cpuOfStart(program: string): Promise<number> {
  await using server = await startServer(program);
  await firstAnswer(server);
  return (await server.ask("cpu")) / 1000;
}

async function wallOfStart(program: string): Promise<number> {
  const before = performance.now();
  await using server = await startServer(program);
  await firstAnswer(server);
  return performance.now() - before;
}

async function firstAnswer({ http: port }: Server): Promise<void> {
  assertReply(jsonRpcResult<PayloadJson>(await post(port, call, 1), 1));
}
