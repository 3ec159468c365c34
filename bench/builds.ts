import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { BeforeRefused, type Budget, type Probe, type Row } from "./row.ts";

/**
 * A build of this framework together with the programs that run it: the servers, the clients and the seeder. The programs
 * use the public names of their own revision, so a build of another revision brings its own along. The harness talks to
 * both in the same way: arguments, messages between processes (`control.ts`) and the protocol on a port.
 */
export interface Build {
  /** The `bench/` folder that holds the programs. */
  readonly programs: URL;
  /** The `dist` folder that the programs load. Default: what `TRIVIUM_DIST` says, or else the one beside `bench/`. */
  readonly dist?: string;
}

/** The build under measure, and the one that a harness starts when a row does not say otherwise. */
export const currentBuild: Build = { programs: new URL("./", import.meta.url) };

/** How much slower than before a row may become: noise and rounding, not a loss that adds up over many changes. */
const beforeBudget: Budget = { of: "before", atMost: 1.03 };

const inUse = new AsyncLocalStorage<Build>();

/** The build whose programs are started now. */
export function buildInUse(): Build {
  return inUse.getStore() ?? currentBuild;
}

/** Starts the programs of `build` in everything that `work` does and awaits. */
export function withBuild<T>(build: Build, work: () => T): T {
  return inUse.run(build, work);
}

/** The build in a `dist` folder, with the programs in the `bench` folder beside it, or with those of this tree without one. */
export function buildAt(dist: string): Build {
  const folder = resolve(dist);
  if (!existsSync(join(folder, "src/index.js"))) {
    throw new Error(`no build in ${folder}: src/index.js is missing; npm run bench:baseline makes one`);
  }
  const benchFolder = join(dirname(folder), "bench");
  const programs = existsSync(join(benchFolder, "servers")) ? pathToFileURL(`${benchFolder}/`) : currentBuild.programs;
  return { programs, dist: folder };
}

/** The row with `build` as its side `before`: what `ours` does, done by the programs of that build. */
export function besideBuild(row: Row, build: Build): Row {
  const { ours } = row.start;
  if (ours === undefined || row.isAlone === true) return row;
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await withBuild(build, work);
    } catch (error) {
      throw new BeforeRefused(error instanceof Error ? error.message : String(error), { cause: error });
    }
  };
  const before = async (): Promise<Probe> => {
    const probe = await run(ours);
    return {
      ...probe,
      measure: () => run(() => probe.measure()),
      [Symbol.asyncDispose]: () => probe[Symbol.asyncDispose](),
    };
  };
  return { ...row, budgets: [beforeBudget, ...row.budgets], start: { ...row.start, before } };
}
