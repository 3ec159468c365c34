import type { PushRegistration, PushStore } from "../../core/ports.js";
import { A2AError } from "../../protocol/errors.js";
import { checkRegistration } from "../check-indexed.js";

export interface MemoryPushStoreOptions {
  /** What all registrations may take; then `set` rejects with `resourceExhausted`. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
}

type ByConfig = Map<string, PushRegistration>;

/**
 * Keeps push registrations in the memory of the process. Whoever delivers them deletes them when their task has ended.
 * Knows neither tasks nor instances: `adopt` gives what was released, whether or not there is anything to tell.
 */
export function memoryPushStore(options: MemoryPushStoreOptions = {}): PushStore {
  const { maxBytes = 64 * 2 ** 20 } = options;
  const tasks = new Map<number, ByConfig>();
  /** Those that nobody delivers, by `nameOf`. */
  const free = new Map<string, PushRegistration>();
  let bytes = 0;

  function keep(registration: PushRegistration, configs: ByConfig): void {
    configs.set(registration.config.id, registration);
    if (registration.holder === "") free.set(nameOf(registration), registration);
    else free.delete(nameOf(registration));
  }

  function store(registration: PushRegistration, configs: ByConfig): void {
    const growth = bytesOf(registration) - bytesOf(configs.get(registration.config.id));
    if (growth > 0 && bytes + growth > maxBytes) {
      throw new A2AError("resourceExhausted", `push configurations take more than ${maxBytes} bytes of memory`);
    }
    bytes += growth;
    keep(registration, configs);
    tasks.set(registration.key, configs);
  }

  // Changes what takes no more room.
  function change(registration: PushRegistration, changes: Pick<PushRegistration, "cursor"> | HolderOnly) {
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
      const configs = tasks.get(key);
      const registration = configs?.get(id);
      if (configs === undefined || registration === undefined) return;
      bytes -= bytesOf(registration);
      free.delete(nameOf(registration));
      configs.delete(id);
      if (configs.size === 0) tasks.delete(key);
    },
    async advance(key, id, cursor) {
      const registration = tasks.get(key)?.get(id);
      if (registration !== undefined && cursor > registration.cursor) change(registration, { cursor });
    },
    async adopt(instance, limit) {
      const adopted = [...free.values()].slice(0, limit);
      return adopted.map((registration) => change(registration, { holder: instance }));
    },
    async release(instance) {
      const held = [...tasks.values()].flatMap((configs) => [...configs.values()]);
      for (const registration of held) if (registration.holder === instance) change(registration, { holder: "" });
    },
    async close() {
      tasks.clear();
      free.clear();
      bytes = 0;
    },
  };
}

type HolderOnly = Pick<PushRegistration, "holder">;

const nameOf = ({ key, config }: PushRegistration): string => `${key} ${config.id}`;

/** About what a registration takes: its texts, and as much again as its objects usually do. */
function bytesOf(registration: PushRegistration | undefined): number {
  if (registration === undefined) return 0;
  const { taskId, config } = registration;
  const { scheme = "", credentials = "" } = config.authentication ?? {};
  const texts = [taskId, config.id, config.taskId, config.tenant, config.url, config.token, scheme, credentials];
  return texts.reduce((sum, text) => sum + text.length, 512);
}
