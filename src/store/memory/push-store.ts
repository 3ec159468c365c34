import type { PushRegistration, PushStore } from "../../core/ports.js";
import { A2AError } from "../../protocol/errors.js";

export interface MemoryPushStoreOptions {
  /** What all registrations may take; then `set` rejects with `resourceExhausted`. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
}

type ByConfig = Map<string, PushRegistration>;

/** Keeps push registrations in the memory of the process. Whoever delivers them deletes them when their task has ended. */
export function memoryPushStore(options: MemoryPushStoreOptions = {}): PushStore {
  const { maxBytes = 64 * 2 ** 20 } = options;
  const tasks = new Map<number, ByConfig>();
  let bytes = 0;

  function store(registration: PushRegistration, configs: ByConfig): void {
    const growth = bytesOf(registration) - bytesOf(configs.get(registration.config.id));
    if (growth > 0 && bytes + growth > maxBytes) {
      throw new A2AError("resourceExhausted", `push configurations take more than ${maxBytes} bytes of memory`);
    }
    bytes += growth;
    configs.set(registration.config.id, registration);
    tasks.set(registration.key, configs);
  }

  return {
    async set(registration, max) {
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
      bytes -= bytesOf(configs?.get(id));
      configs?.delete(id);
      if (configs?.size === 0) tasks.delete(key);
    },
    async advance(key, id, cursor) {
      const registration = tasks.get(key)?.get(id);
      if (registration === undefined || cursor <= registration.cursor) return;
      tasks.get(key)?.set(id, { ...registration, cursor });
    },
    async close() {
      tasks.clear();
      bytes = 0;
    },
  };
}

/** About what a registration takes: its texts, and as much again as its objects usually do. */
function bytesOf(registration: PushRegistration | undefined): number {
  if (registration === undefined) return 0;
  const { taskId, config } = registration;
  const { scheme = "", credentials = "" } = config.authentication ?? {};
  const texts = [taskId, config.id, config.taskId, config.tenant, config.url, config.token, scheme, credentials];
  return texts.reduce((sum, text) => sum + text.length, 512);
}
