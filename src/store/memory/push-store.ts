import type { PushRegistration, PushStore } from "../../core/ports.js";
import { amount, assertOptions, type MembersOf, object } from "../../protocol/check/rules.js";
import { A2AError } from "../../protocol/errors.js";
import { checkRegistration } from "../refusals.js";

/** Limits of a push store in memory. */
export interface MemoryPushStoreOptions {
  /**
   * Size of all configurations in bytes. Above it, settled ones are dropped, in the order in which they were settled;
   * if none is left, `set` rejects with `resourceExhausted`. Default: 64 MiB.
   */
  readonly maxBytes?: number | undefined;
}

const members: MembersOf<MemoryPushStoreOptions> = { maxBytes: { rule: amount } };
const rule = object(members);

/** A push store for tasks in memory. */
export interface MemoryPushStore extends PushStore {
  /** Deletes all registrations of a task. */
  forget(key: number): void;
}

/**
 * Stores push configurations in the memory of the process. It knows neither tasks nor instances: `adopt` returns every
 * released configuration, even if no event is due. Throws a `TypeError` for wrong options.
 *
 * @example
 * ```ts
 * const push = { allow: "public", store: memoryPushStore({ maxBytes: 16 << 20 }) } as const;
 * const server = await serve({ card, agent, push });
 * ```
 */
export function memoryPushStore(options: MemoryPushStoreOptions = {}): MemoryPushStore {
  assertOptions("memoryPushStore()", options, rule);
  const registrations = new Registrations(options.maxBytes ?? 64 * 2 ** 20);
  return {
    async set(registration, max) {
      checkRegistration(registration);
      const isNew = registrations.get(registration.key, registration.config.id) === undefined;
      if (isNew && registrations.ofTask(registration.key).length >= max) return "full";
      registrations.put(registration);
      return "stored";
    },
    async get(key, id) {
      return registrations.get(key, id);
    },
    async list(key) {
      return registrations.ofTask(key);
    },
    async delete(key, id) {
      const registration = registrations.get(key, id);
      if (registration !== undefined) registrations.drop(registration);
    },
    async advance(key, id, cursor) {
      const registration = registrations.get(key, id);
      if (registration !== undefined && cursor > registration.cursor) registrations.change(registration, { cursor });
    },
    async settle(key, id, { holder, cursor }) {
      const registration = registrations.get(key, id);
      if (registration?.holder === holder) registrations.change(registration, { cursor, holder: "", settled: true });
    },
    async adopt(agent, instance, limit) {
      return registrations
        .withoutHolder(agent, limit)
        .map((registration) => registrations.change(registration, { holder: instance }));
    },
    async release(agent, instance) {
      for (const registration of registrations.ofHolder(agent, instance))
        registrations.change(registration, { holder: "" });
    },
    forget(key) {
      for (const registration of registrations.ofTask(key)) registrations.drop(registration);
    },
    async close() {
      registrations.clear();
    },
  };
}

type ConfigMap = Map<string, PushRegistration>;

/** All registrations, by task and id, within a limit of bytes. */
class Registrations {
  readonly #maxBytes: number;
  readonly #tasks = new Map<number, ConfigMap>();
  /** Registrations without a holder, by agent and `makeName`. */
  readonly #freeConfigs = new Map<string, Map<string, PushRegistration>>();
  /** Settled registrations by `makeName`, oldest first. */
  readonly #settledConfigs = new Map<string, PushRegistration>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(key: number, id: string): PushRegistration | undefined {
    return this.#tasks.get(key)?.get(id);
  }

  ofTask(key: number): PushRegistration[] {
    return [...(this.#tasks.get(key)?.values() ?? [])];
  }

  withoutHolder(agent: string, limit: number): PushRegistration[] {
    return [...(this.#freeConfigs.get(agent)?.values() ?? [])].slice(0, limit);
  }

  ofHolder(agent: string, instance: string): PushRegistration[] {
    const all = [...this.#tasks.values()].flatMap((configs) => [...configs.values()]);
    return all.filter(({ holder, scope }) => holder === instance && scope.agent === agent);
  }

  put(registration: PushRegistration): void {
    const configs: ConfigMap = this.#tasks.get(registration.key) ?? new Map();
    const growth = measureRegistration(registration) - measureRegistration(configs.get(registration.config.id));
    // The replaced registration must not be evicted to make room for its replacement.
    this.#settledConfigs.delete(makeName(registration));
    if (growth > 0) this.#makeRoom(growth);
    if (growth > 0 && this.#bytes + growth > this.#maxBytes) {
      throw new A2AError(
        "resourceExhausted",
        `the push store is full: configurations take more than ${this.#maxBytes} bytes (maxBytes)`,
      );
    }
    this.#bytes += growth;
    this.#keep(registration, configs);
    this.#tasks.set(registration.key, configs);
  }

  /** Applies changes that need no more room. */
  change(registration: PushRegistration, changes: Partial<PushRegistration>): PushRegistration {
    const next = { ...registration, ...changes };
    const configs = this.#tasks.get(registration.key);
    if (configs !== undefined) this.#keep(next, configs);
    return next;
  }

  drop(registration: PushRegistration): void {
    const configs = this.#tasks.get(registration.key);
    if (configs?.delete(registration.config.id) !== true) return;
    this.#bytes -= measureRegistration(registration);
    this.#forget(registration);
    if (configs.size === 0) this.#tasks.delete(registration.key);
  }

  clear(): void {
    for (const map of [this.#tasks, this.#freeConfigs, this.#settledConfigs]) map.clear();
    this.#bytes = 0;
  }

  #keep(registration: PushRegistration, configs: ConfigMap): void {
    configs.set(registration.config.id, registration);
    this.#forget(registration);
    if (registration.settled === true) this.#settledConfigs.set(makeName(registration), registration);
    else if (registration.holder === "") this.#findFree(registration).set(makeName(registration), registration);
  }

  #forget(registration: PushRegistration): void {
    this.#findFree(registration).delete(makeName(registration));
    this.#settledConfigs.delete(makeName(registration));
  }

  #findFree({ scope }: PushRegistration): Map<string, PushRegistration> {
    const free = this.#freeConfigs.get(scope.agent) ?? new Map<string, PushRegistration>();
    this.#freeConfigs.set(scope.agent, free);
    return free;
  }

  #makeRoom(growth: number): void {
    for (const oldest of this.#settledConfigs.values()) {
      if (this.#bytes + growth <= this.#maxBytes) return;
      this.drop(oldest);
    }
  }
}

const makeName = ({ key, config }: PushRegistration): string => `${key} ${config.id}`;

/** Approximate size of a registration: its texts, and as much again for its objects. */
function measureRegistration(registration: PushRegistration | undefined): number {
  if (registration === undefined) return 0;
  const { taskId, config } = registration;
  const { scheme = "", credentials = "" } = config.authentication ?? {};
  const texts = [taskId, config.id, config.taskId, config.tenant, config.url, config.token, scheme, credentials];
  return texts.reduce((sum, text) => sum + text.length, 512);
}
