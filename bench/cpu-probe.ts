import { cpuPer, type ProgramName, programs, type Server, startServer } from "./child.ts";
import { type Probe, slicesOf } from "./row.ts";

/** Work on a server: `run(count)` does and checks `count` units of it. */
export interface Work extends Disposable {
  run(count: number): Promise<void>;
}

export interface CpuProbeOptions {
  /** Units done before the first measurement, so that the code is compiled and the connections stand. */
  readonly warmUp: number;
  /** Units of one round. */
  readonly count: number;
  /** What the CPU time is divided by for each unit, such as the chunks of a stream. Default: 1. */
  readonly perUnit?: number;
}

/** A probe that starts a server and measures the CPU time that the server spends on a unit, in microseconds. */
export async function cpuProbe(
  program: ProgramName | (() => Promise<Server>),
  work: (server: Server) => Work | Promise<Work>,
  { warmUp, count, perUnit = 1 }: CpuProbeOptions,
): Promise<Probe> {
  await using opening = new AsyncDisposableStack();
  const server = opening.use(typeof program === "string" ? await startServer(programs[program]) : await program());
  const { run } = opening.use(await work(server));
  if (warmUp > 0) await run(warmUp);
  const { slices, each } = slicesOf(count, perUnit);
  const resources = opening.move();
  return {
    slices,
    measure: () => cpuPer(server, each * perUnit, () => run(each)),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
