import type { Server } from "../child.ts";
import type { Wire } from "../clients/work.ts";
import { type CpuProbeOptions, cpuProbe, type Work } from "../cpu-probe.ts";
import { hasGo, startGoServer } from "../go.ts";
import { createGoLoader, goCallers } from "../load/go.ts";
import { type Budget, type Effort, type PerSubject, type Row, scaleCount } from "../row.ts";

const unaryWires = [
  ["JSON-RPC", "json-rpc"],
  ["HTTP+JSON", "http-json"],
  ["gRPC", "grpc"],
] as const;
const streamWires = [
  ["SSE", "sse"],
  ["gRPC", "grpc-stream"],
] as const;
const streamLength = 1_000;

/**
 * Calls and streams under load from Go clients. For replies, this load and ours were run against the same servers, turn by
 * turn, on a machine of two cores, to see where their figures differ:
 *
 * - Equally warm, the ratios agree. From about the 12,000th call of each load on, ours over JSON-RPC is 2.1 × the floor with
 *   Go and 2.4 × with our load, and 0.62 × the JavaScript SDK with both; over gRPC 1.5 to 1.7 × and 0.9 to 1.1 ×.
 * - Fewer calls measure the compiler, and this is what differs most. Over gRPC ours is 1.6 × the JavaScript SDK in the first
 *   1,000 calls, 1.1 × until the 15,000th and 0.93 × after the 30,000th; over JSON-RPC 1.05, 0.87 and 0.60 ×. The Go SDK
 *   comes compiled: for a reply over JSON-RPC ours costs 5 × the Go SDK at first, then 2 ×, and 1.1 × once warm. A quick run
 *   is harder on ours than a full one, and so is a busy machine, where compiling takes more calls.
 * - Our load over gRPC, a grpc-js client, is slower than the servers. While others use the processors, a server works off
 *   16 calls and then waits until its code and data have left the caches. All sides get slower, the floor most: bursts
 *   from Go show it, with pauses of 20 ms after each (floor 90 µs, ours 141: 1.6 ×) and without (51 and 118: 2.3 ×).
 * - Four connections of gRPC instead of one take 0.41 reads and 0.54 writes a call instead of 0.13 and 0.14. A third of the
 *   calls also brings a PING and a WINDOW_UPDATE, by which grpc-go estimates the bandwidth. A call costs each side 15 to
 *   40 µs more, and the ratios stay. Over HTTP either load takes one read and one write.
 */
export function loadFromGoRows(effort: Effort): readonly Row[] {
  const missing = hasGo() ? undefined : "Go";
  const rows = [
    ...unaryWires.flatMap(([name, wire]) => [messageRow(name, wire, effort), taskRow(name, wire, effort)]),
    ...streamWires.map(([name, wire]) => chunkRow(name, wire, effort)),
  ];
  return missing === undefined ? rows : rows.map((row) => ({ ...row, missing }));
}

function messageRow(name: string, wire: Wire, effort: Effort): Row {
  const budgets: readonly Budget[] =
    wire === "grpc"
      ? [
          { of: "floor", atMost: 1.2 },
          { of: "peer", atMost: 0.8 },
        ]
      : [
          { of: "floor", atMost: 1.6 },
          { of: "go", atMost: 1 },
        ];
  return row(`${name} message reply`, { wire, text: "message", size: callsOf(effort), budgets });
}

function taskRow(name: string, wire: Wire, effort: Effort): Row {
  const size = callsOf(effort);
  // The Go SDK copies the task by encoding and decoding it, which takes a millisecond.
  const slow = { go: { warmUp: size.warmUp / 10, count: size.count / 10 } };
  return row(`${name} task of 3 events`, { wire, text: "task", size, slow, budgets: [{ of: "floor", atMost: 2.5 }] });
}

function callsOf(effort: Effort): CpuProbeOptions {
  return { warmUp: scaleCount(20_000, effort, 1_000), count: scaleCount(6_000, effort) };
}

function chunkRow(name: string, wire: Wire, effort: Effort): Row {
  const size = { warmUp: 2, count: scaleCount(4, effort), perUnit: streamLength * goCallers };
  // What a chunk costs the SDKs grows with the stream: one stream is enough to see it.
  const oneStream = { warmUp: 0, count: 1, perUnit: streamLength };
  const slow = { peer: oneStream, go: oneStream };
  const text = `stream ${streamLength}`;
  return row(`${name} chunk, ${goCallers} streams`, {
    wire,
    text,
    size,
    slow,
    budgets: [{ of: "floor", atMost: 1.8 }],
  });
}

interface GoRow {
  readonly wire: Wire;
  readonly text: string;
  readonly size: CpuProbeOptions;
  /** How much of it a side does that would take too long, in one round. */
  readonly slow?: PerSubject<CpuProbeOptions>;
  readonly budgets: readonly Budget[];
}

function row(name: string, { wire, text, size, slow = {}, budgets }: GoRow): Row {
  const isStream = wire === "sse" || wire === "grpc-stream";
  const start = (side: "floor" | "ours" | "peer" | "go") => () => {
    const effort = slow[side] ?? size;
    const messages = isStream ? (effort.perUnit ?? 1) / streamLength : 1;
    const work = (server: Server): Work => {
      const loader = createGoLoader({ wire, port: wire.startsWith("grpc") ? server.grpc : server.http, text });
      return { ...loader, run: (count) => loader.run(count * messages) };
    };
    return cpuProbe(side === "go" ? startGoServer : side, work, effort);
  };
  const connections = wire.startsWith("grpc") ? "4 connections of grpc-go" : "kept-alive connections of Go's net/http";
  return {
    name: `${name}, load from Go`,
    unit: "µs",
    what: `CPU time of the server per ${isStream ? "chunk of 200 bytes" : "call"}, ${goCallers} in flight on ${connections}`,
    budgets,
    start: { floor: start("floor"), ours: start("ours"), peer: start("peer"), go: start("go") },
    maxRounds: Object.fromEntries(Object.keys(slow).map((side) => [side, 1])),
  };
}
