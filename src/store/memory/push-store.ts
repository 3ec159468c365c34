import type { PushRegistration, PushStore } from "../../core/ports.js";
import { A2AError } from "../../protocol/errors.js";
import { checkRegistration } from "../check-indexed.js";

export interface MemoryPushStoreOptions {
  /**
   * What all registrations may take. Then settled ones make room, those that were settled first; where there are none left,
   * `set` rejects with `resourceExhausted`. Default: 64 MiB.
   */
  readonly maxBytes?: number | undefined;
}

type ByConfig = Map<string, PushRegistration>;

/** A push store beside tasks in memory. */
export interface MemoryPushStore extends PushStore {
  /** Deletes all registrations of a task. */
  forget(key: number): void;
}

/**
 * Keeps push registrations in the memory of the process. Knows neither tasks nor instances: `adopt` gives what was
 * released, whether or not there is anything to tell.
 */
export function memoryPushStore(options: MemoryPushStoreOptions = {}): MemoryPushStore {
  const { maxBytes = 64 * 2 ** 20 } = options;
  const tasks = new Map<number, ByConfig>();
  /** Those that nobody delivers, by `nameOf`. */
  const free = new Map<string, PushRegistration>();
  /** Those that were settled, by `nameOf`, the oldest first. */
  const settled = new Map<string, PushRegistration>();
  let bytes = 0;

  function keep(registration: PushRegistration, configs: ByConfig): void {
    configs.set(registration.config.id, registration);
    unlist(registration);
    if (registration.settled === true) settled.set(nameOf(registration), registration);
    else if (registration.holder === "") free.set(nameOf(registration), registration);
  }

  function unlist(registration: PushRegistration): void {
    free.delete(nameOf(registration));
    settled.delete(nameOf(registration));
  }

  function drop(registration: PushRegistration): void {
    const configs = tasks.get(registration.key);
    if (configs?.delete(registration.config.id) !== true) return;
    bytes -= bytesOf(registration);
    unlist(registration);
    if (configs.size === 0) tasks.delete(registration.key);
  }

  function makeRoom(growth: number): void {
    for (const oldest of settled.values()) {
      if (bytes + growth <= maxBytes) return;
      drop(oldest);
    }
  }

  function store(registration: PushRegistration, configs: ByConfig): void {
    const growth = bytesOf(registration) - bytesOf(configs.get(registration.config.id));
    // What is replaced does not make room for what replaces it.
    settled.delete(nameOf(registration));
    if (growth > 0) makeRoom(growth);
    if (growth > 0 && bytes + growth > maxBytes) {
      throw new A2AError("resourceExhausted", `push configurations take more than ${maxBytes} bytes of memory`);
    }
    bytes += growth;
    keep(registration, configs);
    tasks.set(registration.key, configs);
  }

  // Changes what takes no more room.
  function change(registration: PushRegistration, changes: Partial<PushRegistration>) {
    const changed = { ...registration, ...changes };
    const configs = tasks.get(registration.key);
    if (configs !== undefined) keep(changed, configs);
    return changed;
  }

  return {
    async set(registration, max) {
      checkRegistration(registration);
      const configs: ByConfig = tasks.get(registration.key) ?? new Map();
      if (!configs.has(registration.config.id) && configs.size >= max) return "full";
      store(registration, configs);
      return "stored";
    },
    async get(key, id) {
      return tasks.get(key)?.get(id);
    },
    async list(key) {
      return [...(tasks.get(key)?.values() ?? [])];
    },
    async delete(key, id) {
      const registration = tasks.get(key)?.get(id);
      if (registration !== undefined) drop(registration);
    },
    async advance(key, id, cursor) {
      const registration = tasks.get(key)?.get(id);
      if (registration !== undefined && cursor > registration.cursor) change(registration, { cursor });
    },
    async settle(key, id, { holder, cursor }) {
      const registration = tasks.get(key)?.get(id);
      if (registration?.holder === holder) change(registration, { cursor, holder: "", settled: true });
    },
    async adopt(instance, limit) {
      const adopted = [...free.values()].slice(0, limit);
      return adopted.map((registration) => change(registration, { holder: instance }));
    },
    async release(instance) {
      const held = [...tasks.values()].flatMap((configs) => [...configs.values()]);
      for (const registration of held) if (registration.holder === instance) change(registration, { holder: "" });
    },
    forget(key) {
      for (const registration of tasks.get(key)?.values() ?? []) drop(registration);
    },
    async close() {
      tasks.clear();
      free.clear();
      settled.clear();
      bytes = 0;
    },
  };
}

const nameOf = ({ key, config }: PushRegistration): string => `${key} ${config.id}`;

/** About what a registration takes: its texts, and as much again as its objects usually do. */
function bytesOf(registration: PushRegistration | undefined): number {
  if (registration === undefined) return 0;
  const { taskId, config } = registration;
  const { scheme = "", credentials = "" } = config.authentication ?? {};
  const texts = [taskId, config.id, config.taskId, config.tenant, config.url, config.token, scheme, credentials];
  return texts.reduce((sum, text) => sum + text.length, 512);
}
