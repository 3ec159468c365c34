import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { equals } from "@bufbuild/protobuf";
import { type Task, TaskSchema } from "../../src/protocol/model.js";
import { createRandom } from "../core/simulator/random.js";
import { webhook } from "../push/receiver.js";
import { connectAll, failureText } from "./callers.js";
import { bindings, createLedger, type KnownTask, type Ledger } from "./ledger.js";
import { underLoad } from "./load.js";
import { mortalServer } from "./mortal-server.js";
import { checkNotifications } from "./push-checks.js";
import { checkRuns } from "./run-checks.js";
import type { Scene } from "./scene.js";
import { settle } from "./settle.js";
import { checkTask } from "./task-checks.js";

/** The store under test. */
export interface StoreUnderTest {
  /** Its location: `memory`, a file, or a database URL. `folder` belongs to the run alone. */
  place(folder: string): string;
  /** Called while the server is down. Returns what is damaged. */
  damage?(place: string): Promise<readonly string[]> | readonly string[];
}

export interface CrashOptions {
  readonly store: StoreUnderTest;
  readonly kills: number;
  readonly seed: number;
  /** Whether the agent's turns run again after their process died. */
  readonly restartable: boolean;
  /** Called after the load has stopped, before the checks. */
  readonly meanwhile?: ((scene: Scene) => Promise<void>) | undefined;
  /** Default: 20 s. */
  readonly patienceMs?: number | undefined;
  /** Aborted when the test is over. */
  readonly signal?: AbortSignal | undefined;
}

const killsPerRound = 8;
/** Two callers per binding. */
const workers = [...bindings, ...bindings];
const checksAtOnce = 6;
/** The most answers and events a process gives before it is killed, and the most time it has for them. */
const killAfter = 200;
const killAfterMs = 3000;

/** Kills a server under load again and again and checks that every answer still holds. */
export async function crashRun(options: CrashOptions): Promise<Ledger> {
  const { store, kills, seed, restartable, patienceMs = 20_000, signal } = options;
  const folder = await mkdtemp(join(tmpdir(), "trivium-crash-"));
  const random = createRandom(seed);
  const place = store.place(folder);
  const ledger = createLedger();
  try {
    await using receiver = await webhook();
    receiver.answer = () => (random.chance(0.1) ? 503 : 204);
    const runs = join(folder, "runs");
    await using server = await mortalServer({ store: place, runs, restartable });
    await server.start();
    await using callers = await connectAll(server);
    const name = `crash-${seed}`;
    const scene: Scene = {
      ...{ server, callers, webhook: receiver, ledger, random, name, runs, restartable, patienceMs, signal },
    };
    const listed = new Map<string, Task>();
    do {
      const from = ledger.sent.length;
      const count = Math.min(killsPerRound, kills - ledger.tally.kills);
      await underLoad(scene, workers, (isOver) =>
        killAgain(scene, count, async () => {
          // The store goes with its test.
          if (!isOver()) ledger.faults.push(...((await store.damage?.(place)) ?? []));
        }),
      );
      await options.meanwhile?.(scene);
      await checkRound(scene, listed, from);
    } while (ledger.tally.kills < kills && ledger.faults.length === 0);
    if (ledger.faults.length > 0) ledger.faults.push(`the server said: ${server.complaints()}`);
    return ledger;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function killAgain(scene: Scene, kills: number, examine: () => Promise<void>): Promise<void> {
  const { server, random, ledger } = scene;
  for (let count = 0; count < kills; count++) {
    await Promise.race([ledger.pulse.reached(ledger.pulse.count + random.int(0, killAfter)), delay(killAfterMs)]);
    await server.kill();
    ledger.tally.kills++;
    await examine();
    const started = server.start();
    if (count + 1 < kills && random.chance(0.15)) {
      await Promise.race([started, delay(random.int(20, 500))]);
      await server.kill();
      ledger.tally.kills++;
      count++;
      if (!(await started)) ledger.tally.killsAtStart++;
      await examine();
      await server.start();
    } else await started;
  }
  // Without kills only the checks are tested.
  if (kills === 0) await ledger.pulse.reached(1000);
}

/** Checks everything the servers have answered, once the load has stopped. `listed` holds what was found so far. */
export async function checkRound(scene: Scene, listed: Map<string, Task>, from: number): Promise<void> {
  const { ledger } = scene;
  const tasks = await settle(scene, from);
  for (const [id, before] of listed) {
    const now = tasks.get(id);
    if (now === undefined) ledger.faults.push(`task ${id} of an earlier round has gone`);
    else if (!equals(TaskSchema, before, now)) ledger.faults.push(`task ${id} has changed since it ended`);
  }
  const unchecked = [...ledger.tasks.values()].filter(({ id }) => !listed.has(id));
  const checking = Array.from({ length: checksAtOnce }, async () => {
    for (let knownTask = unchecked.pop(); knownTask !== undefined; knownTask = unchecked.pop()) {
      if (tasks.has(knownTask.id)) await checkKnown(scene, knownTask);
      else ledger.faults.push(`task ${knownTask.id} was spoken of and is not there`);
    }
  });
  await Promise.all(checking);
  await checkRuns(scene, tasks, from);
  for (const [id, task] of tasks) listed.set(id, task);
}

async function checkKnown(scene: Scene, knownTask: KnownTask): Promise<void> {
  const { ledger } = scene;
  ledger.tally.tasks++;
  try {
    await checkTask(scene, knownTask);
    await checkNotifications(scene, knownTask);
  } catch (error) {
    ledger.faults.push(`task ${knownTask.id} cannot be checked: ${failureText(error)}`);
  }
}
