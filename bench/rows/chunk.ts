import type { Ready } from "../control.ts";
import { assertChunks } from "../corpus.ts";
import { cpuProbe, type Work } from "../cpu-probe.ts";
import { createGrpcLoader } from "../load/grpc.ts";
import { eventsOf, openSse } from "../load/sse.ts";
import { type Budget, type Effort, type Row, type Side, scaleCount } from "../row.ts";
import { jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams, textOf } from "../wire.ts";

/** What a longer stream may cost per chunk, as a multiple of the shortest: flat, with room for noise. */
const flat = 1.25;
const lengths = [1_000, 4_000, 100_000] as const;
const bindings = { SSE: sseStream, gRPC: grpcStream } as const;

/** A streamed chunk of 200 bytes, from an agent that gives way to the event loop after each. */
export function chunkRows(effort: Effort): readonly Row[] {
  const names = ["SSE", "gRPC"] as const;
  return names.flatMap((binding) => lengths.map((length) => row(binding, length, effort)));
}

function row(binding: keyof typeof bindings, length: number, effort: Effort): Row {
  const streams = length === 100_000 ? 1 : scaleCount(40_000 / length, effort, 2);
  const start = (side: Side) => () => {
    const slow = side === "peer";
    const size = { warmUp: slow || length === 100_000 ? 0 : streams, count: slow ? 1 : streams, perUnit: length };
    return cpuProbe(side, (server) => bindings[binding](server, length), size);
  };
  const sides = { floor: start("floor"), ours: start("ours") };
  return {
    name: rowName(binding, length),
    unit: "µs",
    what: "CPU time of the server per chunk of 200 bytes; every chunk is checked, in order",
    budgets: budgetsOf(binding, length),
    start: length === 100_000 ? sides : { ...sides, peer: start("peer") },
    maxRounds: { peer: 1 },
  };
}

function budgetsOf(binding: string, length: number): readonly Budget[] {
  const budgets: Budget[] = [{ of: "floor", atMost: 2.5 }];
  if (length === 4_000) budgets.push({ of: "peer", atMost: 0.01 });
  if (length > 1_000) budgets.push({ of: "row", row: rowName(binding, 1_000), atMost: flat });
  return budgets;
}

function rowName(binding: string, length: number): string {
  return `${binding} chunk, stream of ${length.toLocaleString("en")}`;
}

export function sseStream({ http: port }: Ready, length: number): Work {
  const call = jsonRpcCall("SendStreamingMessage", (n) => sendParams(`stream ${length}`, n));
  let n = 0;
  const one = async () => {
    const response = await openSse({ port, call, n: ++n });
    const chunks: string[] = [];
    let state: string | undefined;
    for await (const { data } of eventsOf(response)) {
      const { artifactUpdate, statusUpdate } = jsonRpcResult<PayloadJson>(data, n);
      if (artifactUpdate) chunks.push(textOf(artifactUpdate.artifact));
      state = statusUpdate?.status?.state ?? state;
    }
    assertChunks(chunks, length);
    if (state !== "TASK_STATE_COMPLETED") throw new Error(`the stream ended with ${state}`);
  };
  return { run: (count) => times(count, one), [Symbol.dispose]: () => {} };
}

export async function grpcStream({ grpc: port }: Ready, length: number): Promise<Work> {
  const loader = await createGrpcLoader(port);
  const one = async () => {
    const chunks: string[] = [];
    for await (const { payload } of loader.stream(`stream ${length}`)) {
      if (payload.case !== "artifactUpdate") continue;
      const texts = payload.value.artifact?.parts.map(({ content }) => (content.case === "text" ? content.value : ""));
      chunks.push(texts?.join("") ?? "");
    }
    assertChunks(chunks, length);
  };
  return { run: (count) => times(count, one), [Symbol.dispose]: () => loader[Symbol.dispose]() };
}

async function times(count: number, work: () => Promise<void>): Promise<void> {
  for (let time = 0; time < count; time++) await work();
}
