import type { Clock, PushStore, RateStore, Signals, Store } from "../core/ports.js";
import { type CoreProcess, createCoreProcess } from "../core/process.js";
import { systemClock } from "../protocol/async/system-clock.js";
import { withDefaults } from "../protocol/defaults.js";
import type { Logger } from "../protocol/logger.js";
import { defaultValidationLimits, type ValidationLimits } from "../protocol/validation-limits.js";
import { processSignals } from "../signals/in-process.js";
import { memoryPushStore } from "../store/memory/push-store.js";
import { memoryTaskStore } from "../store/memory/task-store.js";
import { openTelemetry, type Telemetry } from "../telemetry/telemetry.js";
import type { Version } from "../version/codec.js";
import type { VersionOptions } from "../version/options.js";
import { versionEntries } from "../version/versions.js";
import { createProcessAdmission, type ProcessAdmission } from "./admission.js";
import { resolveLimits } from "./limits.js";
import { resolveLogger } from "./log/stderr-logger.js";
import type { AgentOptions, BaseServerOptions } from "./options.js";
import { createLoad, type Load } from "./overload/load.js";

// A server has one process, however many agents it serves: the store, admission, telemetry, and the loaded versions.
// `core/process.ts` is its part of the core: one instance with its lease and heartbeat, one poll, the slots of turns
// and the memory of their tasks. Each agent has its own handler, card, service and limits over it.

/** Parts that a server has once, whatever its number of agents. */
export interface ServerProcess {
  readonly admission: ProcessAdmission;
  readonly clock: Clock;
  readonly telemetry: Telemetry | undefined;
  /** `undefined` where nothing is measured. */
  readonly load: Load | undefined;
  /** The logger in an option; its records carry the trace in which they are written. */
  resolveLogger(option: BaseServerOptions["logger"]): Logger;
  /** Loads versions, newest first, once for all agents with the same settings. */
  versions(names: readonly string[] | undefined, options: VersionOptions): Promise<readonly Version[]>;
  /** Opens the store with the first agent that has tasks. */
  tasks(): Promise<TaskProcess>;
  /** Gives up what `tasks` opened. Call it once all agents are closed. */
  close(): Promise<void>;
}

/** The store of a server, and its place there. */
export interface TaskProcess {
  readonly store: Store;
  readonly pushStore: PushStore;
  /** Limits of callers that other servers share. */
  readonly rates: RateStore | undefined;
  readonly signals: Signals;
  readonly core: CoreProcess;
}

export type ProcessOptions = BaseServerOptions & Pick<AgentOptions, "store" | "signals">;

export async function openServerProcess(options: ProcessOptions): Promise<ServerProcess> {
  const telemetry = await openTelemetry(options.telemetry);
  const clock = withTelemetry(telemetry?.clock, options.clock ?? systemClock);
  const resolveTracedLogger: ServerProcess["resolveLogger"] = (option) =>
    withTelemetry(telemetry?.logger, resolveLogger(option));
  const limits = resolveLimits(options.limits);
  const load = createLoad({ limits, clock, logger: resolveTracedLogger(options.logger) });
  const versionCache = new Map<string, Promise<Version>>();
  let tasks: Promise<TaskProcess> | undefined;
  let unlisten: (() => void) | undefined;
  const open = async (): Promise<TaskProcess> => {
    const store = options.store ?? memoryTaskStore({ clock });
    const signals = options.signals ?? store.signals ?? processSignals;
    const logger = resolveTracedLogger(options.logger);
    await store.open?.(logger);
    unlisten = telemetry && store.onFlush?.(telemetry.recordFlush);
    const core = createCoreProcess({ store, signals, clock, logger, limits, load });
    // No other server has the store that this one makes for itself.
    const { rates } = options.store ?? {};
    return { store, pushStore: store.push ?? memoryPushStore(), rates, signals, core };
  };
  if (telemetry?.metricsUrl !== undefined) {
    resolveTracedLogger(options.logger).info({ url: telemetry.metricsUrl }, "metrics are served");
  }
  return {
    clock,
    telemetry,
    resolveLogger: resolveTracedLogger,
    load,
    admission: createProcessAdmission(limits, clock, load),
    versions: (names, settings) =>
      Promise.all(
        versionEntries(names).map((entry) => {
          const { limits, fileBytes, securityRequirements } = settings;
          const key = JSON.stringify([entry.name, fileBytes, securityRequirements, listValidation(limits)]);
          const version = versionCache.get(key) ?? entry.load(settings);
          versionCache.set(key, version);
          return version;
        }),
      ),
    tasks() {
      tasks ??= open();
      return tasks;
    },
    async close() {
      load?.close();
      const taskProcess = await tasks?.catch(() => undefined);
      await taskProcess?.core.close();
      unlisten?.();
      if (options.store === undefined) await taskProcess?.store.close();
      await telemetry?.close();
    },
  };
}

/** Handles an error while an agent is composed: closes the process and rethrows. */
export function closeOnFailure(process: ServerProcess): (error: unknown) => Promise<never> {
  return async (error) => {
    await process.close();
    throw error;
  };
}

/** Wraps a part for telemetry, if there is any. */
function withTelemetry<T>(follow: ((part: T) => T) | undefined, part: T): T {
  return follow === undefined ? part : follow(part);
}

// The members in one order, so that equal limits are equal texts.
function listValidation(limits: ValidationLimits = defaultValidationLimits): readonly unknown[] {
  const values = withDefaults<Readonly<Record<string, unknown>>>({ ...defaultValidationLimits }, { ...limits });
  return Object.keys(defaultValidationLimits).map((name) => values[name]);
}
