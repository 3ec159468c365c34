import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import type { Immediates } from "../../support/immediates.js";
import { checkEnd, checkHolders } from "./checks.js";
import { Client } from "./client.js";
import { storm } from "./storm.js";
import { type MakeStore, World } from "./world.js";

const busyMs = 8000;
const recoverMs = 14_000;
const endMs = 6000;

/** The result of one seed. */
export interface Report {
  readonly violations: readonly string[];
  /** The trace, if one was requested. */
  readonly lines: readonly string[];
  readonly tasks: number;
  readonly records: number;
}

export interface SimulateOptions {
  readonly traced?: boolean | undefined;
  /** Events are delivered as equal objects, not the same ones. Default: false. */
  readonly isEncoded?: boolean | undefined;
  /** Default: in memory. */
  readonly makeStore?: MakeStore | undefined;
}

const inMemory: MakeStore = (options) => memoryTaskStore({ ...options, incarnation: "i" });

/** Runs one world from its faults to its end and reports violations. */
export async function simulate(
  seed: number,
  immediates: Immediates,
  { traced = false, isEncoded = false, makeStore = inMemory }: SimulateOptions = {},
): Promise<Report> {
  const world = new World(seed, immediates, { traced, makeStore });
  world.journal.isEncoded = isEncoded;
  const { journal, lines } = world;
  const unheard = (error: unknown): void =>
    journal.fail(`nobody caught ${error instanceof Error ? error.stack : error}`);
  process.on("unhandledRejection", unheard);
  try {
    await live(world);
  } finally {
    process.off("unhandledRejection", unheard);
  }
  const records = [...journal.tasks.values()].reduce((sum, task) => sum + task.records.length, 0);
  return { violations: journal.violations, lines, tasks: journal.tasks.size, records };
}

async function live(world: World): Promise<void> {
  for (let index = 0; index < world.weather.clients; index++) void new Client(world, `c${index}`).live();
  void storm(world, world.random.fork());
  await world.time.advance(busyMs);
  world.becalm();
  await world.time.advance(recoverMs);
  world.recovered = true;
  await checkHolders(world);
  const janitor = new Client(world, "janitor");
  for (const id of world.unfinished()) void janitor.cancel(id);
  await world.time.advance(endMs);
  await checkEnd(world);
  for (const process of world.processes) void world.leave(process);
  await world.time.advance(endMs);
  await world.store.close();
}
