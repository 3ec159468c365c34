import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom } from "../core/simulator/random.js";
import { type Callers, connectAll } from "../crash/callers.js";
import { checkRound } from "../crash/crash-run.js";
import { bindings, createLedger, type Ledger } from "../crash/ledger.js";
import { underLoad } from "../crash/load.js";
import { type MortalServer, mortalServer } from "../crash/mortal-server.js";
import type { Scene } from "../crash/scene.js";
import { webhook } from "../push/receiver.js";
import { replicaCount } from "./replicas.js";
import { type RoundRobin, roundRobin } from "./round-robin.js";

export interface FleetOptions {
  /** The database's URL. */
  readonly store: string;
  readonly restartable: boolean;
  /** Default: one second. */
  readonly instanceTtlMs?: number | undefined;
}

/** Processes of one agent on one database, behind a proxy. */
export interface Fleet extends AsyncDisposable {
  readonly members: readonly MortalServer[];
  readonly proxy: RoundRobin;
  /** The file in which the agents record their runs. */
  readonly runs: string;
  /** The fleet as callers see it: one server. */
  readonly asOne: MortalServer;
}

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const folder = await mkdtemp(join(tmpdir(), "trivium-fleet-"));
  const runs = join(folder, "runs");
  const members: MortalServer[] = [];
  for (let count = 0; count < replicaCount; count++) {
    members.push(await mortalServer({ ...options, runs, handleSignals: true }));
  }
  const end = async (): Promise<void> => {
    await Promise.all(members.map((member) => member[Symbol.asyncDispose]()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(members.map((member) => member.start()));
    const proxy = await roundRobin(members.map(({ port }) => port));
    const dispose = async (): Promise<void> => {
      await end();
      await proxy[Symbol.asyncDispose]();
    };
    return { members, proxy, runs, asOne: asOne(members, proxy), [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await end();
    throw error;
  }
}

function asOne(members: readonly MortalServer[], { url, port }: RoundRobin): MortalServer {
  const [first] = members;
  if (first === undefined) throw new TypeError("the fleet is empty");
  const all = (deed: (member: MortalServer) => Promise<unknown>) => Promise.all(members.map(deed));
  const kill = async (): Promise<void> => void (await all((member) => member.kill()));
  return {
    url,
    port,
    // Any of them. It changes when one is replaced.
    get life() {
      return members.reduce((sum, { life }) => sum + life, 0);
    },
    get lives() {
      return members.reduce((sum, { lives }) => sum + lives, 0);
    },
    isAlive: (life) => members.some((member) => member.isAlive(life)),
    complaints: () => members.map((member) => member.complaints()).join("\n"),
    runs: () => first.runs(),
    start: async () => (await all((member) => member.start())).every((started) => started === true),
    kill,
    terminate: () => all((member) => member.terminate()),
    [Symbol.asyncDispose]: kill,
  };
}

export interface LoadRun {
  readonly fleet: Fleet;
  readonly restartable: boolean;
  readonly seed: number;
  /** Disturbs the fleet while callers are at work. */
  disturb(scene: Scene): Promise<void>;
  /** Aborted when the test is over. */
  readonly signal: AbortSignal;
}

/** Runs callers through the proxy while the fleet is disturbed, and checks that every answer holds. */
export async function runUnderLoad({ fleet, restartable, seed, disturb, signal }: LoadRun): Promise<Ledger> {
  const random = createRandom(seed);
  const ledger = createLedger();
  await using receiver = await webhook();
  receiver.answer = () => 204;
  await using callers: Callers = await connectAll(fleet.asOne);
  const { asOne: server, runs } = fleet;
  const name = `fleet-${seed}`;
  const scene: Scene = {
    ...{ server, callers, webhook: receiver, ledger, random, name, runs, restartable },
    patienceMs: 20_000,
    signal,
  };
  await underLoad(scene, bindings, async () => {
    await disturb(scene);
    // A slow machine may have seen few calls until here, and the rarer kinds not at all.
    while (ledger.tally.canceled === 0 || ledger.tally.followUps === 0) await after(scene, 20);
  });
  await checkRound(scene, new Map(), 0);
  if (ledger.faults.length > 0) ledger.faults.push(...runsOfFaulty(scene), `the servers said: ${server.complaints()}`);
  return ledger;
}

/** The messages sent to faulty tasks, and the agents' runs for them. */
function runsOfFaulty({ ledger, server }: Scene): string[] {
  const isFaulty = (id: string | undefined): boolean =>
    id !== undefined && ledger.faults.some((fault) => fault.includes(id));
  const sends = ledger.sent.filter(({ options }) => isFaulty(options.continue?.taskId));
  const runs = server.runs().filter(({ taskId }) => isFaulty(taskId));
  return [...sends.map(({ options: { continue: _, ...options }, ...rest }) => ({ ...rest, options })), ...runs].map(
    (each) => JSON.stringify(each),
  );
}

/** Resolves after this many more answers and events. */
export function after({ ledger }: Scene, count: number): Promise<void> {
  return ledger.pulse.reached(ledger.pulse.count + count);
}
