/**
 * `npm run bench:steps`: where the time of a unary call or of a chunk goes, step by step.
 *
 *     node bench/steps.ts [--side ours|floor|peer] [--call jsonrpc|http-json|grpc|sse|grpc-stream] [--script message|task] [--top N]
 *
 * Starts the server of the benchmark with an inspector, warms it up, and profiles CPU time, allocated bytes, system calls
 * (with `strace` where it is installed), timers and promises in turn. Each sample belongs to the step of the innermost
 * function of ours on its stack (`steps/step-table.ts`), also when Node works for it.
 */
import { parseArgs } from "node:util";
import { type ProgramName, programs } from "./child.ts";
import { attribute, type Figures, mostOf } from "./steps/attribution.ts";
import { openLoad } from "./steps/call-load.ts";
import { startInspected } from "./steps/inspected.ts";
import { steps } from "./steps/step-table.ts";
import { countSystemCalls } from "./steps/system-calls.ts";

const warmUp = 20_000;
const profiled = 20_000;

const { values } = parseArgs({
  options: {
    side: { type: "string", default: "ours" },
    call: { type: "string", default: "jsonrpc" },
    script: { type: "string", default: "message" },
    top: { type: "string", default: "0" },
  },
});

const { side } = values;
if (!(side in programs)) throw new Error(`--side ${side}: the sides are ${Object.keys(programs).join(", ")}`);
await using server = await startInspected(programs[side as ProgramName]);
using load = await openLoad(values.call, values.script as "message" | "task", server.ready);
await load.run(warmUp);

const { user, system } = await server.cpu(() => load.run(profiled));
const time = attribute(await server.profileTime(() => load.run(profiled)), profiled);
const memory = attribute(await server.profileMemory(() => load.run(profiled)), profiled);
const resources = await server.countResources(() => load.run(profiled));
const systemCalls = await countSystemCalls(server.pid, () => load.run(profiled));

print(
  `${values.call}, ${values.script}: CPU time per call without a profile ${micros((user + system) / profiled)} µs, of it in the kernel ${micros(system / profiled)} µs\n`,
);
print("| step | µs | bytes allocated |");
print("|---|---:|---:|");
for (const step of [...steps.map(({ name }) => name), "garbage collection", "Node"]) {
  print(`| ${step} | ${micros(time.byStep.get(step) ?? 0)} | ${bytes(memory.byStep.get(step) ?? 0)} |`);
}
print(`| all | ${micros(sum(time))} | ${bytes(sum(memory))} |\n`);
print(`each call: ${perCall(resources)}`);
print(systemCalls === undefined ? "system calls: strace is not installed" : `system calls: ${perCall(systemCalls)}`);
for (const [name, figure] of mostOf(time, Number(values.top))) print(`${micros(figure).padStart(8)} µs  ${name}`);
if (Number(values.top) > 0) print("");
for (const [name, figure] of mostOf(memory, Number(values.top))) print(`${bytes(figure).padStart(8)} B   ${name}`);

function sum({ byStep }: Figures): number {
  let total = 0;
  for (const [step, figure] of byStep) if (step !== "idle") total += figure;
  return total;
}

function perCall(counts: ReadonlyMap<string, number>): string {
  const sorted = [...counts].sort(([, a], [, b]) => b - a).filter(([, count]) => count / profiled >= 0.01);
  return sorted.map(([name, count]) => `${(count / profiled).toFixed(2)} ${name}`).join(", ");
}

function micros(value: number): string {
  return value.toFixed(2);
}

function bytes(value: number): string {
  return Math.round(value).toLocaleString("en");
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
