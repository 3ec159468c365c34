import { keepTimers } from "../protocol/async/timer-queue.js";
import type { Scope } from "../protocol/context.js";
import { newId } from "../protocol/id/new-id.js";
import type { Logger } from "../protocol/logger.js";
import { createLease, type Lease } from "./lease.js";
import { type CoreLimits, coreLimits } from "./limits.js";
import { checkHeld, Heartbeat } from "./ownership/heartbeat.js";
import type { Clock, Signals, Store, TaskStore } from "./ports.js";
import type { ProcessLoad } from "./process-load.js";
import { ReadMemory } from "./read-gate.js";
import { RunningMemory } from "./running-memory.js";
import type { Runtime } from "./runtime.js";
import { observeStore } from "./store-guard.js";
import { StoreHealth } from "./store-health.js";
import { ProcessSlots } from "./turn-slots.js";
import { createTurnYields, type TurnYields } from "./turn-yields.js";
import { createWatch, type Watch } from "./watch.js";

export interface CoreProcessOptions {
  readonly store: TaskStore & Pick<Store, "heapMaxBytes">;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: UUIDv7. */
  readonly newId?: (() => string) | undefined;
  /** Name of this process in the store. Default: a new one. */
  readonly instance?: string | undefined;
  readonly limits?: Partial<CoreLimits> | undefined;
  /** The health of the store, when others watch it too. Default: the process's own. */
  readonly health?: StoreHealth | undefined;
  /** How loaded the process is. Default: it is never overloaded. */
  readonly load?: ProcessLoad | undefined;
}

/**
 * Parts that a process has once, whatever its number of agents: its lease in the store with one heartbeat, the store's
 * health, one poll for all watched tasks, the slots of turns, and the memory of their tasks.
 */
export interface CoreProcess {
  readonly store: TaskStore;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly instance: string;
  readonly health: StoreHealth;
  readonly lease: Lease;
  readonly heartbeat: Heartbeat;
  readonly watch: Watch;
  readonly slots: ProcessSlots;
  readonly yields: TurnYields;
  readonly memory: RunningMemory;
  readonly readMemory: ReadMemory;
  /** Gives up the lease. Call it once all handlers are closed. */
  close(): Promise<void>;
}

export function createCoreProcess(options: CoreProcessOptions): CoreProcess {
  const limits = coreLimits(options.limits);
  const { signals, clock, newId: makeId = () => newId(clock.now()) } = options;
  const { instance = makeId() } = options;
  const { health = new StoreHealth({ clock, limits, logger: options.logger }) } = options;
  const logger = health.quiet(options.logger);
  const store = observeStore(options.store, health, { clock, limits });
  const members = new Set<() => Runtime>();
  const releaseTimers = keepTimers(clock);
  const checkAll = async (): Promise<void> => {
    await Promise.all([...members].map((current) => checkHeld(current())));
  };
  const lease = createLease({ store, clock, limits, instance, checkHeld: checkAll });
  const onError = (error: unknown): void => logger.warn({ err: error }, "the watched tasks could not be polled");
  const watch = createWatch({ store, signals, clock, pollMs: limits.pollMs, onError });
  health.probeWith({
    write: lease.renew,
    writeLarge: () => probeFreeSpace({ store, newId: makeId, instance }),
    writeTask: async () => void (await store.append({ key: 0, epoch: 0, seq: 0, records: [], bytes: 0 })),
  });
  const heartbeat = new Heartbeat({ store, clock, limits, instance, lease, logger, members });
  const memory = new RunningMemory(clock, { ...limits, runningMaxBytes: runningMaxBytes(limits, options.store) });
  return {
    store: options.store,
    signals,
    clock,
    newId: makeId,
    instance,
    health,
    lease,
    heartbeat,
    watch,
    slots: new ProcessSlots(limits, memory, options.load),
    yields: createTurnYields(clock),
    memory,
    readMemory: new ReadMemory(clock, limits),
    async close() {
      watch.close();
      // A probe renews the lease, which must not happen after the instance has retired.
      await health.close();
      await heartbeat.stop();
      releaseTimers();
    },
  };
}

// Otherwise the store would be full and refuse writes before running tasks wait.
function runningMaxBytes(
  limits: CoreLimits,
  { heapMaxBytes = Number.POSITIVE_INFINITY }: Pick<Store, "heapMaxBytes">,
): number {
  return Math.min(limits.runningMaxBytes, Math.floor(heapMaxBytes / 4));
}

// Writes the record of a send that does not exist, larger than the free space of a page in use.
async function probeFreeSpace({
  store,
  newId,
  instance,
}: Pick<CoreProcess, "store" | "newId" | "instance">): Promise<void> {
  const scope: Scope = { agent: "", tenant: "", owner: "" };
  const entry = newId();
  const digest = Array.from({ length: 4_500 }, newId).join("");
  await store.beginSend({ scope, messageId: entry, entry, digest, taskId: entry, seq: 0, instance });
  await store.forgetSend({ scope, messageId: entry, entry, attempt: 1 });
}
