import type { Append, Clock, NewTask, TaskStore } from "../../../src/core/ports.js";
import type { Journal } from "./journal.js";
import type { Process } from "./process.js";
import type { Random } from "./random.js";
import type { Weather } from "./weather.js";

/** What a call rejects with when the store could not be reached, or its answer was lost. */
export class StoreDown extends Error {}

/** When a store call goes wrong: its effect happens never, before the error, or behind it. */
type Fault = "before" | "after" | "late" | undefined;

/** The way of one process to the store that all of them share. */
export class FaultyStore implements TaskStore {
  /** While set, nothing comes through. */
  out = false;
  readonly #store: TaskStore;
  readonly #journal: Journal;
  readonly #process: Process;
  readonly #time: Clock;
  readonly #random: Random;
  #weather: Pick<Weather, "slow" | "slowMs" | "failing">;

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
  }

  /** From now on nothing goes wrong. */
  calm(): void {
    this.out = false;
    this.#weather = { slow: 0, slowMs: 0, failing: 0 };
  }

  create = (task: NewTask) =>
    this.#call(async () => {
      const head = await this.#store.create(task);
      this.#journal.created(this.#process.name, task, head);
      return head;
    });
  append = (write: Append) =>
    this.#call(async () => {
      const result = await this.#store.append(write);
      if (result === "stored") this.#journal.appended(this.#process.name, write);
      return result;
    });
  withdraw = (key: number, entry: string) =>
    this.#call(async () => {
      const withdrawn = await this.#store.withdraw(key, entry);
      if (withdrawn) this.#journal.withdrawn(entry);
      return withdrawn;
    });
  taskNamed: TaskStore["taskNamed"] = (scope, name) => this.#call(() => this.#store.taskNamed(scope, name));
  read: TaskStore["read"] = (scope, id) => this.#call(() => this.#store.read(scope, id));
  head: TaskStore["head"] = (scope, id) => this.#call(() => this.#store.head(scope, id));
  recordsAfter: TaskStore["recordsAfter"] = (key, after, limit) =>
    this.#call(() => this.#store.recordsAfter(key, after, limit));
  heads: TaskStore["heads"] = (keys) => this.#call(() => this.#store.heads(keys));
  list: TaskStore["list"] = (scope, query) => this.#call(() => this.#store.list(scope, query));
  put: TaskStore["put"] = (key, entry, max, fence) => this.#call(() => this.#store.put(key, entry, max, fence));
  inbox: TaskStore["inbox"] = (key) => this.#call(() => this.#store.inbox(key));
  renew: TaskStore["renew"] = (instance, ttlMs) => this.#call(() => this.#store.renew(instance, ttlMs));
  retire: TaskStore["retire"] = (instance) => this.#call(() => this.#store.retire(instance));
  orphans: TaskStore["orphans"] = (agent, limit, after) => this.#call(() => this.#store.orphans(agent, limit, after));
  due: TaskStore["due"] = (agent, limit, after) => this.#call(() => this.#store.due(agent, limit, after));
  beginSend: TaskStore["beginSend"] = (send) => this.#call(() => this.#store.beginSend(send));
  readSend: TaskStore["readSend"] = (scope, messageId) => this.#call(() => this.#store.readSend(scope, messageId));
  takeSend: TaskStore["takeSend"] = (claim, instance) => this.#call(() => this.#store.takeSend(claim, instance));
  settleSend: TaskStore["settleSend"] = (claim, outcome, bytes) =>
    this.#call(() => this.#store.settleSend(claim, outcome, bytes));
  forgetSend: TaskStore["forgetSend"] = (claim) => this.#call(() => this.#store.forgetSend(claim));
  close: TaskStore["close"] = async () => {};

  async #call<T>(effect: () => Promise<T>): Promise<T> {
    await this.#process.whenUp();
    await this.#way();
    const fault = this.#fault();
    if (fault === "late") void this.#late(effect);
    // A request that has left its process takes effect, whatever becomes of the process.
    const result = fault === undefined || fault === "after" ? await effect().then(ok, wrong) : undefined;
    await this.#way();
    await this.#process.whenUp();
    if (result === undefined || fault !== undefined) throw new StoreDown(`the store was not reached (${fault})`);
    if ("error" in result) throw result.error;
    return result.value;
  }

  #fault(): Fault {
    if (this.out) return "before";
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
