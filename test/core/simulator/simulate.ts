import { isTerminal } from "../../../src/protocol/states.js";
import type { Immediates } from "../../support/immediates.js";
import { Client } from "./client.js";
import type { Random } from "./random.js";
import { isFair } from "./weather.js";
import { World } from "./world.js";

const busyMs = 12_000;
const recoverMs = 15_000;
const endMs = 6000;

/** What a seed showed. */
export interface Report {
  readonly violations: readonly string[];
  readonly lines: readonly string[];
  readonly tasks: number;
  readonly records: number;
}

/** Lives one world through, from its stormy days to its end, and tells what went wrong. */
export async function simulate(seed: number, immediates: Immediates, traced = false): Promise<Report> {
  const world = new World(seed, immediates, traced);
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
  await world.settled(busyMs);
  world.becalm();
  await world.settled(recoverMs);
  await checkHolders(world);
  const janitor = new Client(world, "janitor");
  for (const id of world.unfinished()) void janitor.cancel(id);
  await world.settled(endMs);
  await checkEnd(world);
  for (const process of world.processes) {
    if (process.timers !== 1) world.journal.fail(`${process.name} has ${process.timers} timers when nothing is left to do`);
  }
  for (const { handler } of world.processes) void handler?.close().then(() => world.open.delete("close"));
  await world.settled(endMs);
  for (const process of world.processes) {
    if (process.timers > 0) world.journal.fail(`${process.name} leaves ${process.timers} timers behind`);
  }
}

async function storm(world: World, random: Random): Promise<void> {
  const { crashes, pauses, outages, leaves } = world.weather;
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => world.time.after(ms, resolve));
  if (!crashes && !pauses && !outages && !leaves) return;
  for (;;) {
    await sleep(random.int(50, 4000));
    if (world.calm) return;
    const [first, ...rest] = world.processes;
    if (first === undefined) return world.start();
    const process = random.pick([first, ...rest]);
    if (crashes && random.chance(0.5)) {
      world.kill(process);
      await sleep(random.int(0, 3000));
      if (!world.calm) world.start();
    } else if (leaves && random.chance(0.5)) {
      void world.leave(process);
    } else if (pauses && random.chance(0.7)) {
      world.trace(() => `${process.name} stands still`);
      process.pause();
      world.time.after(random.int(10, 9000), () => {
        world.trace(() => `${process.name} goes on`);
        process.resume();
      });
    } else if (outages) {
      world.cut(process, true);
      world.time.after(random.int(100, 7000), () => world.cut(process, false));
    }
  }
}

// No task is at work with nobody behind it.
async function checkHolders({ journal, store, running, receiving }: World): Promise<void> {
  for (const { id, key, states } of journal.tasks.values()) {
    const head = await store.head({ tenant: "", owner: "alice" }, id);
    if (head === undefined) return journal.fail(`${id} is gone`);
    const state = states.at(-1) ?? 0;
    if (isTerminal(state) || (head.holder === "" && state > 4)) continue;
    const behind = (running.get(id) ?? []).some((process) => process.state === "up");
    if (head.holder === "" || !head.holderLive || !behind) {
      journal.fail(`${id} is in state ${state}, held by "${head.holder}", and nobody works on it`);
    }
    const { entries } = await store.inbox(key);
    if (receiving.has(id) && entries.length > 0) journal.fail(`${id} waits for a message, and one waits for it`);
  }
}

async function checkEnd({ journal, store, open, sends, weather }: World): Promise<void> {
  for (const call of open) journal.fail(`${call} was never answered`);
  for (const { id, digests, states, records } of journal.tasks.values()) {
    if (!isTerminal(states.at(-1) ?? 0)) journal.fail(`${id} was canceled and goes on in state ${states.at(-1)}`);
    const stored = await store.read({ tenant: "", owner: "alice" }, id);
    if (stored?.head.seq !== records.length)
      journal.fail(`${id} has ${stored?.head.seq} records, ${records.length} were written`);
    const gone = records.some(
      (record) => record.kind === "event" && JSON.stringify(record.event.payload.value, noBigInt).includes("has gone"),
    );
    if (gone && isFair(weather)) journal.fail(`${id} was taken from a process that was there`);
    if (digests.length !== records.length + 1) journal.fail(`${id} lost count`);
  }
  for (const [messageId, outcome] of sends) {
    const taken = journal.taken.has(messageId);
    if (outcome === "answered" && !taken) journal.fail(`${messageId} was accepted and never taken`);
    if (outcome === "refused" && taken) journal.fail(`${messageId} was refused and taken`);
    if (outcome === "replied" && taken) journal.fail(`${messageId} was replied to and taken by a task`);
  }
}

const noBigInt = (_: string, value: unknown): unknown => (typeof value === "bigint" ? Number(value) : value);
