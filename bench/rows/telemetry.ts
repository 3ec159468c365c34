import { type Server, startServer } from "../child.ts";
import { type CpuProbeOptions, cpuProbe, type Work } from "../cpu-probe.ts";
import { createHttpLoader } from "../load/http.ts";
import { type Effort, type Row, scaleCount } from "../row.ts";
import { assertReply, assertTask, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "../wire.ts";

type Verb = "message" | "task";
type Mode = "off" | "api" | "bare" | "sampled";
const asserts = { message: assertReply, task: assertTask };
const shapes = { message: "message reply", task: "task of 3 events" };
const floors = { off: "`telemetry: false`", bare: "`telemetry: false`, and the bare calls of the SDK" };

/**
 * What telemetry adds to a call: with an SDK that samples one trace in a hundred, and without one. The calls of the SDK alone
 * are measured by themselves: nothing that calls it can cost less.
 */
export function telemetryRows(effort: Effort): readonly Row[] {
  const size = { warmUp: scaleCount(20_000, effort, 1_000), count: scaleCount(6_000, effort) };
  return [
    row("sampled", "message", { size, atMost: 1.12 }),
    row("sampled", "task", { size, atMost: 1.05 }),
    row("bare", "message", { size }),
    row("bare", "task", { size }),
    row("sampled", "message", { size, floor: "bare", atMost: 1.12 }),
    row("sampled", "task", { size, floor: "bare", atMost: 1.12 }),
    // Two processes that do the same differ by about this much.
    row("api", "message", { size, atMost: 1.1 }),
  ];
}

const modes: Readonly<Record<Exclude<Mode, "off">, string>> = {
  sampled: "an SDK of OpenTelemetry that samples 1 %",
  bare: "bare calls of that SDK of OpenTelemetry",
  api: "OpenTelemetry without an SDK",
};

interface Measurement {
  readonly size: CpuProbeOptions;
  /** Default: `off`. */
  readonly floor?: keyof typeof floors;
  readonly atMost?: number;
}

function row(mode: Exclude<Mode, "off">, verb: Verb, { size, floor = "off", atMost }: Measurement): Row {
  const start = (each: Mode) => () =>
    cpuProbe(
      () => startServer("ours-telemetry.ts", [each]),
      (server) => calls(server, verb),
      size,
    );
  return {
    name: `JSON-RPC ${shapes[verb]}, ${modes[mode]}${floor === "off" ? "" : ", beside bare calls of it"}`,
    unit: "µs",
    what: `CPU time of the server per call, 16 in flight on kept-alive connections; floor: ${floors[floor]}`,
    budgets: atMost === undefined ? [] : [{ of: "floor", atMost }],
    start: { floor: start(floor), ours: start(mode) },
  };
}

function calls({ http: port }: Server, verb: Verb): Work {
  const call = jsonRpcCall("SendMessage", (n) => sendParams(verb, n));
  const check = (body: string, n: number) => asserts[verb](jsonRpcResult<PayloadJson>(body, n));
  return createHttpLoader({ port, call, check });
}
