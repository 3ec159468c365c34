import { monotonic } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { runConcurrently } from "../../protocol/async/run-concurrently.js";
import type { Logger } from "../../protocol/logger.js";
import { TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import { TurnAborted } from "../agent.js";
import type { Lease } from "../lease.js";
import type { CoreLimits } from "../limits.js";
import type { Clock, Head, StoredTask, TaskStore, WaitingCursor } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { isStoreAnswer } from "../store-failure.js";
import { type LiveTask, trackLostTask } from "../task/live-task.js";
import { freeAbandonedSends } from "./abandoned-sends.js";
import { endWithoutTurn, isHolderGone, isOrphan } from "./claim-turn.js";
import { sweepConcurrency, takeOver } from "./take-over.js";
import { wakeDue } from "./wake.js";

// Ownership: at most one process writes a task. A process has one lease for all its tasks, a row that the heartbeat
// renews (`core/lease.ts`). With each heartbeat every handler sweeps: it takes over tasks whose holders are gone, looks
// after those that it lost itself, wakes parked tasks that are due (`wake.ts`), frees abandoned sends, and ends tasks
// that have waited too long.
//
// When a lease expires, its holder is not known to be dead: all processes may be late alike. So another process first
// renews its own lease, and takes nothing over until everybody has had time to (`Lease.trustsExpiry`). Then it decides
// for each task (`take-over.ts`), and claims it by a write that raises its epoch. From then on every write of the old
// holder is refused. A holder that was only late notices by itself: after a late renewal it compares the heads of its
// tasks (`checkHeld`), and after two expiries without one it gives all of them up (`giveUpHeld`).

/** Page size of a sweep for orphans. */
const orphanPage = 100;
/** Pause between two sweeps for tasks that have waited too long, and between two checks of the leases of other processes. */
const pauseMs = 60_000;

/** A handler that takes part in the heartbeat. */
export interface HeartbeatMember {
  /** Starts no more work by itself, and keeps what it holds. */
  stopNewWork(): void;
  /** Ends its sweeps. */
  leave(): Promise<void>;
}

export interface HeartbeatOptions {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly limits: CoreLimits;
  /** Name of this process in the store. */
  readonly instance: string;
  readonly lease: Lease;
  readonly logger: Logger;
  /** The handlers that take part. They are added here, for the lease. */
  readonly members: Set<() => Runtime>;
}

/**
 * The heartbeat of this process: it renews the lease (`core/lease.ts`), which nothing else may delay, and starts the sweeps
 * of its members after each beat.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #sweeps = new Map<() => Runtime, Sweeps>();
  readonly #leases: LeaseWatch;
  #isStopped = false;
  #cancel = noop;
  #beating: Promise<void>;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#leases = new LeaseWatch(options);
    this.#beating = this.#beat();
  }

  /** Adds a handler; `current` returns its runtime. */
  join(current: () => Runtime): HeartbeatMember {
    const { members, lease } = this.#options;
    const own = new Sweeps(current);
    members.add(current);
    this.#sweeps.set(current, own);
    // One that joins later need not wait for the next heartbeat.
    if (lease.valid) own.sweep();
    return {
      stopNewWork: () => own.stopNewWork(),
      leave: async () => {
        members.delete(current);
        this.#sweeps.delete(current);
        await own.end();
      },
    };
  }

  /** Ends the heartbeat and gives up the lease. */
  async stop(): Promise<void> {
    const { store, instance, logger } = this.#options;
    this.#isStopped = true;
    this.#cancel();
    await this.#beating;
    this.#cancel();
    await Promise.all([...this.#sweeps.values()].map((each) => each.end()));
    await this.#leases.end();
    await store
      .retire(instance)
      .catch((error: unknown) => logger.warn({ err: error }, "the instance could not be retired"));
  }

  async #beat(): Promise<void> {
    const { clock, limits, lease, logger, members } = this.#options;
    try {
      await lease.renew();
      for (const each of this.#sweeps.values()) each.sweep();
      this.#leases.checkLeases();
    } catch (error) {
      logger.warn({ err: error }, "the heartbeat failed");
      if (lease.lapsedMs >= limits.instanceTtlMs) for (const member of members) giveUpHeld(member());
    }
    if (this.#isStopped) return;
    this.#cancel = clock.after(limits.heartbeatMs, () => {
      this.#beating = this.#beat();
    });
  }
}

/**
 * Warns if other processes use a different lease duration. After an outage, a process waits for its own duration before it
 * takes over and assumes that the others use the same.
 */
class LeaseWatch {
  readonly #options: HeartbeatOptions;
  #known: readonly number[] = [];
  #checking: Promise<void> | undefined;
  #nextCheck: number;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#nextCheck = monotonic(options.clock);
  }

  checkLeases(): void {
    const now = monotonic(this.#options.clock);
    if (this.#checking !== undefined || now < this.#nextCheck) return;
    this.#nextCheck = now + pauseMs;
    this.#checking = this.#check().finally(() => {
      this.#checking = undefined;
    });
  }

  async end(): Promise<void> {
    await this.#checking;
  }

  async #check(): Promise<void> {
    const { store, limits, logger } = this.#options;
    const { instanceTtlMs } = limits;
    try {
      const otherTtls = await store.otherTtls(instanceTtlMs);
      const isNew = otherTtls.some((ttlMs) => !this.#known.includes(ttlMs));
      this.#known = otherTtls;
      if (!isNew) return;
      logger.warn(
        { instanceTtlMs, otherTtls },
        "processes on this store have leases of different length: give all of them the same instanceTtlMs, or tasks of one that lives may be taken over",
      );
    } catch (error) {
      logger.debug({ err: error }, "the leases of other processes could not be read");
    }
  }
}

/** A part of a sweep, and the record of its failure. */
interface SweepStep {
  run(runtime: Runtime, sweeps: Sweeps): Promise<void>;
  logFailure(logger: Logger, err: unknown): void;
}

/** The parts of a sweep, in order. One that fails ends the sweep; the next heartbeat tries again. */
const sweepSteps: readonly SweepStep[] = [
  {
    async run(runtime, sweeps) {
      await sweepOrphans(runtime, sweeps);
      await sweepLost(runtime);
    },
    logFailure: (logger, err) =>
      logger.warn({ err }, "abandoned tasks could not be taken over: the next heartbeat tries again"),
  },
  {
    run: wakeDue,
    logFailure: (logger, err) =>
      logger.warn({ err }, "parked tasks could not be woken: the next heartbeat tries again"),
  },
  {
    run: freeAbandonedSends,
    logFailure: (logger, err) =>
      logger.warn({ err }, "abandoned sends could not be freed: the next heartbeat tries again"),
  },
  {
    async run(runtime, sweeps) {
      if (!sweeps.isExpiryDue()) return;
      await expireWaiting(runtime);
      sweeps.noteExpiry();
    },
    logFailure: (logger, err) =>
      logger.warn({ err }, "tasks that have waited too long could not be ended: the next heartbeat tries again"),
  },
];

/** The work of one handler after each heartbeat: one sweep at a time. */
class Sweeps {
  readonly #current: () => Runtime;
  readonly #clock: Clock;
  #sweeping: Promise<void> | undefined;
  #nextExpiry: number;
  /** Key of the orphan at which the last sweep failed. */
  behind: number | undefined;
  isStopped = false;

  /** `current`: returns the runtime of the handler. */
  constructor(current: () => Runtime) {
    this.#current = current;
    this.#clock = current().clock;
    this.#nextExpiry = monotonic(this.#clock);
  }

  /** Starts a sweep unless one is under way. */
  sweep(): void {
    if (!this.isStopped) this.#sweeping ??= this.#sweep();
  }

  stopNewWork(): void {
    this.isStopped = true;
  }

  async end(): Promise<void> {
    this.stopNewWork();
    await this.#sweeping;
  }

  /** Whether to look for tasks that have waited too long: `pauseMs` after the last time that succeeded. */
  isExpiryDue(): boolean {
    return monotonic(this.#clock) >= this.#nextExpiry;
  }

  noteExpiry(): void {
    this.#nextExpiry = monotonic(this.#clock) + pauseMs;
  }

  async #sweep(): Promise<void> {
    const runtime = this.#current();
    const releaseShutdown = runtime.turns.holdShutdown();
    for (const step of sweepSteps) {
      try {
        await step.run(runtime, this);
      } catch (error) {
        step.logFailure(runtime.logger, error);
        break;
      }
    }
    this.#sweeping = undefined;
    releaseShutdown();
  }
}

// Tasks whose holder has expired. A task that cannot be taken over blocks the sweep only once; the next sweep starts
// after it.
async function sweepOrphans(runtime: Runtime, sweeps: Sweeps): Promise<void> {
  const { store, agentId } = runtime;
  for (let heads: readonly Head[] | undefined; heads === undefined || heads.length === orphanPage; ) {
    heads = await store.orphans(agentId, orphanPage, sweeps.behind);
    if (heads.length > 0 && !(await isHolderGone(runtime))) return;
    await runConcurrently(untilStopped(sweeps, heads), sweepConcurrency, async ({ key, scope, id }) => {
      sweeps.behind = key;
      const storedTask = await store.read(scope, id);
      if (storedTask !== undefined) await takeOrphan(runtime, storedTask);
    });
    if (sweeps.isStopped) return;
  }
  sweeps.behind = undefined;
}

function* untilStopped(sweeps: Sweeps, heads: readonly Head[]): Generator<Head> {
  for (const head of heads) {
    if (sweeps.isStopped) return;
    yield head;
  }
}

// An orphan for which this process has no room is left to others, or to the next sweep.
async function takeOrphan(runtime: Runtime, storedTask: StoredTask): Promise<void> {
  if (!(await isOrphan(runtime, storedTask))) return;
  try {
    await takeOver(runtime, storedTask);
  } catch (error) {
    if (!isStoreAnswer(error)) throw error;
  }
}

// Tasks that this process abandoned when the store failed. No other process may end them while this one lives. Their
// last write may still arrive late, so they are checked for as long as the store may lag.
async function sweepLost(runtime: Runtime): Promise<void> {
  const { clock, limits, lostTasks, store } = runtime;
  for (const [id, { scope, idleSince, open }] of lostTasks) {
    const isOver = !open && monotonic(clock) - idleSince > limits.instanceTtlMs;
    const storedTask = await store.read(scope, id);
    if (storedTask !== undefined && (await isOrphan(runtime, storedTask))) await takeOrphan(runtime, storedTask);
    else if (isOver) lostTasks.delete(id);
  }
}

/** Page size of a sweep for tasks that have waited too long. */
const waitingPage = 100;

/**
 * Ends tasks that have waited for their callers, or parked without a time, for longer than `taskWaitMaxMs`: FAILED, by
 * a claimed write, so that subscribers and webhooks hear of it.
 */
async function expireWaiting(runtime: Runtime): Promise<void> {
  const { store, agentId, limits, alarm } = runtime;
  const text = `the task has waited for longer than it may: the limit is ${limits.taskWaitMaxMs} ms (taskWaitMaxMs)`;
  for (let after: WaitingCursor | undefined; ; ) {
    const heads: readonly Head[] = await store.waiting(agentId, limits.taskWaitMaxMs, waitingPage, after);
    for (const { scope, id, statusTime } of heads) {
      if (alarm.closed) return;
      const storedTask = await store.read(scope, id);
      if (storedTask !== undefined && stillWaits(storedTask, statusTime))
        await endWithoutTurn(runtime, storedTask, { state: TaskState.FAILED, text });
    }
    after = heads.at(-1);
    if (heads.length < waitingPage) return;
  }
}

// The task may have continued since its head was read.
function stillWaits({ head }: StoredTask, statusTime: number): boolean {
  return head.statusTime === statusTime && head.holder === "" && head.wakeAt === undefined && !isTerminal(head.state);
}

/** Tasks whose heads are read at once. */
const pageKeys = 500;

/** Gives up the tasks that another process has taken over. */
export async function checkHeld({ live, store, instance }: Runtime): Promise<void> {
  const tasksByKey = new Map<number, LiveTask>();
  for (const task of live.values()) if (task.key !== undefined) tasksByKey.set(task.key, task);
  const keys = [...tasksByKey.keys()];
  for (let from = 0; from < keys.length; from += pageKeys) {
    for (const { key, epoch, holder } of await store.heads(keys.slice(from, from + pageKeys))) {
      const task = tasksByKey.get(key);
      // The claim of a next turn may be under way here.
      if (task !== undefined && task.epoch < epoch && holder !== instance)
        task.abandon(new TurnAborted("OwnershipLost"));
    }
  }
}

/**
 * Gives up all tasks. The store was out of reach for so long that other processes, if there are any, have taken them
 * over. The remaining ones are ended or re-run when it is back.
 */
function giveUpHeld(runtime: Runtime): void {
  for (const task of [...runtime.live.values()]) {
    const reason = new TurnAborted("OwnershipLost");
    trackLostTask(runtime, task, reason);
    task.abandon(reason);
  }
}
