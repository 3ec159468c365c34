import type { SendMessageResponse } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Server } from "../child.ts";
import { answerText } from "../corpus.ts";
import { type CpuProbeOptions, cpuProbe, type Work } from "../cpu-probe.ts";
import { createGrpcLoader } from "../load/grpc.ts";
import { createHttpLoader } from "../load/http.ts";
import { type Budget, type Effort, type Row, type Side, scaleCount } from "../row.ts";
import {
  assertReply,
  assertTask,
  httpJsonCall,
  jsonRpcCall,
  jsonRpcResult,
  type PayloadJson,
  sendParams,
} from "../wire.ts";

type Verb = "message" | "task";
const asserts = { message: assertReply, task: assertTask };
const shapes = { message: "message reply", task: "task of 3 events" };
const budgets = { message: ratios(2, 0.25), task: ratios(3, 0.3) };

/** One call and one answer: a reply, and a task of three events in the memory store. */
export function unaryRows(effort: Effort): readonly Row[] {
  const size = { warmUp: scaleCount(20_000, effort, 1_000), count: scaleCount(6_000, effort) };
  const http = (["message", "task"] as const).flatMap((verb) => [
    row(`JSON-RPC ${shapes[verb]}`, budgets[verb], size, ({ http }) => jsonRpc(http, verb)),
    row(`HTTP+JSON ${shapes[verb]}`, budgets[verb], size, ({ http }) => httpJson(http, verb)),
  ]);
  const grpc = row("gRPC message reply", [{ of: "floor", atMost: 1.2 }], size, ({ grpc }) => grpcMessage(grpc));
  return [...http, grpc, versionsRow(size)];
}

/** What a call of 1.0 costs while every version is served; the floor is the same server with 1.0 alone. */
function versionsRow(size: CpuProbeOptions): Row {
  const work = ({ http }: Server) => jsonRpc(http, "message");
  return {
    name: "JSON-RPC message, older versions beside 1.0",
    unit: "µs",
    what: "CPU time of the server per call, 16 in flight on kept-alive connections; floor: 1.0 alone",
    // Two processes that do the same differ by about this much.
    budgets: [{ of: "floor", atMost: 1.1 }],
    start: { floor: () => cpuProbe("newest", work, size), ours: () => cpuProbe("ours", work, size) },
  };
}

function row(
  name: string,
  budget: readonly Budget[],
  size: CpuProbeOptions,
  work: (server: Server) => Work | Promise<Work>,
): Row {
  const start = (side: Side) => () => cpuProbe(side, work, size);
  return {
    name,
    unit: "µs",
    what: "CPU time of the server per call, 16 in flight on kept-alive connections",
    budgets: budget,
    start: { floor: start("floor"), ours: start("ours"), peer: start("peer") },
  };
}

function jsonRpc(port: number, verb: Verb): Work {
  const call = jsonRpcCall("SendMessage", (n) => sendParams(verb, n));
  const check = (body: string, n: number) => asserts[verb](jsonRpcResult<PayloadJson>(body, n));
  return createHttpLoader({ port, call, check });
}

function httpJson(port: number, verb: Verb): Work {
  const call = httpJsonCall("message:send", (n) => sendParams(verb, n));
  return createHttpLoader({ port, call, check: (body) => asserts[verb](JSON.parse(body)) });
}

async function grpcMessage(port: number): Promise<Work> {
  const loader = await createGrpcLoader(port);
  return {
    run: (count) => loader.run("message", count, assertGrpcReply),
    [Symbol.dispose]: () => loader[Symbol.dispose](),
  };
}

function assertGrpcReply({ payload }: SendMessageResponse): void {
  const content = payload.case === "message" ? payload.value.parts[0]?.content : undefined;
  if (content?.case !== "text" || content.value !== answerText) throw new Error("not the reply");
}

function ratios(floor: number, peer: number): readonly Budget[] {
  return [
    { of: "floor", atMost: floor },
    { of: "peer", atMost: peer },
  ];
}
