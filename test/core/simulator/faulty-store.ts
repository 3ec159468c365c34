import {
  type Clock,
  callMethod,
  createPort,
  type MethodKind,
  type TaskStore,
  taskCalls,
} from "../../../src/core/ports.js";
import type { Journal } from "./journal.js";
import type { Process } from "./process.js";
import type { Random } from "./random.js";
import type { Weather } from "./weather.js";

/** What a call rejects with when the store is unreachable or its answer is lost. */
export class StoreDown extends Error {}

/** When a store call fails: before its effect, after it, or with the effect still to come. */
type Fault = "before" | "after" | "late" | undefined;

/** The path of one process to the shared store. */
export class FaultyStore {
  /** The store as the process sees it. */
  readonly port: TaskStore;
  /** While set, no call gets through. */
  out = false;
  /** The same, for all processes at once. */
  away = false;
  readonly #store: TaskStore;
  readonly #journal: Journal;
  readonly #process: Process;
  readonly #time: Clock;
  readonly #random: Random;
  #weather: Pick<Weather, "slow" | "slowMs" | "failing" | "lateWrites">;

  constructor(
    place: { readonly store: TaskStore; readonly journal: Journal; readonly time: Clock; readonly weather: Weather },
    process: Process,
    random: Random,
  ) {
    this.#store = place.store;
    this.#journal = place.journal;
    this.#time = place.time;
    this.#weather = place.weather;
    this.#process = process;
    this.#random = random;
    const calls = createPort<Omit<TaskStore, "close">>(
      taskCalls,
      (method, kind) =>
        (...args) =>
          this.#call(method === "renew" ? "read" : kind, () => callMethod(this.#store, method, args)),
    );
    this.port = { ...calls, ...this.#journaled(), close: async () => {} };
  }

  // Records every effect, even if the process does not learn of it.
  #journaled(): Pick<TaskStore, "create" | "append" | "withdraw"> {
    const [store, journal, { name }] = [this.#store, this.#journal, this.#process];
    return {
      create: (task) =>
        this.#call("turn", async () => {
          const head = await store.create(task);
          journal.created(name, task, head);
          return head;
        }),
      append: (write) =>
        this.#call("turn", async () => {
          const result = await store.append(write);
          if (result === "stored") journal.appended(name, write);
          return result;
        }),
      withdraw: (key, entry) =>
        this.#call("write", async () => {
          const withdrawn = await store.withdraw(key, entry);
          if (withdrawn) journal.withdrawn(entry);
          return withdrawn;
        }),
    };
  }

  /** From now on no call fails. */
  calm(): void {
    this.out = false;
    this.away = false;
    this.#weather = { slow: 0, slowMs: 0, failing: 0, lateWrites: 0 };
  }

  async #call<T>(kind: MethodKind, effect: () => Promise<T>): Promise<T> {
    const lateness = this.#lateness(kind);
    await this.#process.whenUp();
    await this.#way();
    if (lateness === "before") await this.#sleep(this.#random.int(1900, 4500));
    const fault = this.#fault();
    if (fault === "late") void this.#late(effect);
    // A request that left its process takes effect whatever happens to the process.
    const result = fault === undefined || fault === "after" ? await effect().then(ok, wrong) : undefined;
    if (lateness === "after") await this.#sleep(this.#random.int(1900, 4500));
    await this.#way();
    await this.#process.whenUp();
    if (result === undefined || fault !== undefined) throw new StoreDown(`the store was not reached (${fault})`);
    if ("error" in result) throw result.error;
    return result.value;
  }

  #lateness(kind: MethodKind): "before" | "after" | undefined {
    const { lateWrites } = this.#weather;
    if (lateWrites === 0 || kind === "read" || !this.#random.chance(lateWrites)) return undefined;
    return this.#random.pick(["before", "after"]);
  }

  #fault(): Fault {
    if (this.out || this.away) return "before";
    if (!this.#random.chance(this.#weather.failing)) return undefined;
    return this.#random.pick(["before", "after", "late"]);
  }

  async #late(effect: () => Promise<unknown>): Promise<void> {
    await this.#sleep(this.#random.int(1, 800));
    await effect().catch(() => {});
  }

  async #way(): Promise<void> {
    const { slow, slowMs } = this.#weather;
    if (this.#random.chance(slow)) await this.#sleep(this.#random.int(0, slowMs));
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#time.after(ms, resolve));
  }
}

const ok = <T>(value: T) => ({ value });
const wrong = (error: unknown) => ({ error });
