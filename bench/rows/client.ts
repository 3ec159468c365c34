import { currentBuild, withBuild } from "../builds.ts";
import { startProgram, startServer } from "../child.ts";
import { streamLength, type Wire } from "../clients/work.ts";
import { type Budget, type Effort, type Probe, type Row, type Side, scaleCount, slicesOf } from "../row.ts";

const programs = { floor: "floor.ts", ours: "ours.ts", peer: "js-sdk.ts" } as const;

/** The CPU time of a client process, of a call or of an event; all call the same server, that of the current build. */
export function clientRows(effort: Effort): readonly Row[] {
  return [
    row("client: JSON-RPC message", "json-rpc", 1.5, effort),
    row("client: HTTP+JSON message", "http-json", 1.5, effort),
    row("client: gRPC message", "grpc", 1.3, effort),
    row("client: SSE event", "sse", 2.5, effort),
    row("client: gRPC event", "grpc-stream", 2.5, effort),
  ];
}

function row(name: string, wire: Wire, overFloor: number, effort: Effort): Row {
  const streams = wire === "sse" || wire === "grpc-stream";
  const size = streams
    ? { warmUp: 10, count: scaleCount(20, effort), perUnit: streamLength }
    : { warmUp: scaleCount(40_000, effort, 5_000), count: scaleCount(6_000, effort), perUnit: 1 };
  const start = (side: Side) => () => clientProbe(side, wire, size);
  const budgets: readonly Budget[] = [
    { of: "floor", atMost: overFloor },
    { of: "peer", atMost: 1 },
  ];
  return {
    name,
    unit: "µs",
    what: `CPU time of the client process per ${streams ? "chunk of 200 bytes" : "call, 16 in flight"}; floor: ${floors[wire]}`,
    budgets,
    start: { floor: start("floor"), ours: start("ours"), peer: start("peer") },
  };
}

const floors: Readonly<Record<Wire, string>> = {
  "json-rpc": "fetch and JSON.parse",
  "http-json": "fetch and JSON.parse",
  grpc: "bare grpc-js",
  sse: "fetch, eventsource-parser and JSON.parse",
  "grpc-stream": "bare grpc-js",
};

interface Size {
  readonly warmUp: number;
  readonly count: number;
  readonly perUnit: number;
}

async function clientProbe(side: Side, wire: Wire, { warmUp, count, perUnit }: Size): Promise<Probe> {
  await using opening = new AsyncDisposableStack();
  const server = opening.use(await withBuild(currentBuild, () => startServer("ours.ts")));
  const client = opening.use(await startProgram(`clients/${programs[side]}`, [wire, String(server.http)]));
  await client.ask({ run: warmUp });
  const { slices, each } = slicesOf(count, perUnit);
  const resources = opening.move();
  return {
    slices,
    async measure() {
      const before = await client.ask("cpu");
      await client.ask({ run: each });
      return ((await client.ask("cpu")) - before) / (each * perUnit);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
