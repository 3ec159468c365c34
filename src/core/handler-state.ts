import type { Logger } from "../protocol/logger.js";
import type { TurnTelemetry } from "../protocol/telemetry/follow.js";
import type { Agent } from "./agent.js";
import { createAlarm } from "./alarm.js";
import { type AgentConversations, type DirectReplyDeps, openConversations } from "./conversation/conversations.js";
import type { ConversationOptions } from "./conversation/log.js";
import { type CoreLimits, coreLimits } from "./limits.js";
import type { HeartbeatMember } from "./ownership/heartbeat.js";
import { wakeDue } from "./ownership/wake.js";
import type { TaskStore } from "./ports.js";
import type { CoreProcess } from "./process.js";
import { createTaskQuota } from "./quota.js";
import { createReadGate } from "./read-gate.js";
import type { HandlerParts, Runtime } from "./runtime.js";
import { guardStore, type StoreUser } from "./store-guard.js";
import { TaskUse } from "./task-use.js";
import { TurnRun } from "./turn/run.js";
import { TurnSlots } from "./turn-slots.js";
import { markStarted, type TurnClients, type TurnStart, type TurnTarget } from "./turn-start.js";
import { shareWatch } from "./watch.js";

// An agent that is replaced keeps the state of its handler: live tasks, claims, inboxes, streams. Each release of the
// agent has a runtime over it. A turn stays with the runtime that it began with; everything else goes to the latest.

/** Options that may change when an agent is replaced. */
export interface RuntimeOptions {
  readonly agent: Agent;
  /** Whether any process that finds a dead process's turn re-runs it. Default: false, the task fails. */
  readonly restartable?: boolean | undefined;
  /** Whether a caller's deadline ends only its wait, or also the turn that the call started. Default: `"wait"`. */
  readonly deadlines?: Runtime["deadlines"] | undefined;
  readonly logger: Logger;
  readonly limits?: Partial<CoreLimits> | undefined;
  /** How conversations are remembered; `false`: not at all. Default: the defaults of `ConversationOptions`. */
  readonly conversations?: ConversationOptions | false | undefined;
  /** Returns the part of a principal that is stored with its message, beside owner and tenant. Default: nothing is. */
  readonly keptClaims?: Runtime["keptClaims"];
  /** Counts tokens against the budgets of callers. Default: there are none. */
  readonly charge?: Runtime["charge"];
  /** Follows turns. Default: nothing does. */
  readonly telemetry?: TurnTelemetry | undefined;
  /** Makes clients of other agents of the process. Default: there are none. */
  readonly clients?: TurnClients | undefined;
}

/** The state that a handler keeps when its agent is replaced: its tasks in this process. */
export class HandlerState {
  readonly #process: CoreProcess;
  readonly #shared: HandlerParts;
  #member: HeartbeatMember | undefined;
  #current: Runtime | undefined;
  /** The runtime for work that no caller waits for: a slow store must not prevent it. */
  #sweeping: Runtime | undefined;
  #conversations: { readonly settings: string; readonly current: AgentConversations | undefined } | undefined;

  constructor(process: CoreProcess, { agentId, limits }: Pick<Runtime, "agentId"> & Pick<RuntimeOptions, "limits">) {
    this.#process = process;
    const { signals, clock, health, lease, instance, newId, yields, memory, slots } = process;
    this.#shared = {
      agentId,
      signals,
      clock,
      health,
      lease,
      instance,
      newId,
      yields,
      memory,
      alarm: createAlarm(clock, () => wakeDueTasks(this.#latest())),
      watch: shareWatch(process.watch),
      turns: new TurnSlots(slots, coreLimits(limits), clock),
      lostTasks: new Map(),
      live: new Map(),
      claiming: new Map(),
      sending: new Set(),
      abandonedSends: new Map(),
      subscriptions: new Set(),
    };
  }

  /** Opens the runtime of a release, which from now on is the latest. */
  open(options: RuntimeOptions): Runtime {
    const { agent, restartable = false, deadlines = "wait" } = options;
    const { keptClaims, charge, telemetry, clients } = options;
    const { health, clock } = this.#shared;
    const limits = coreLimits(options.limits);
    const logger = health.quiet(options.logger);
    const storeFor = (user: StoreUser): TaskStore =>
      guardStore(this.#process.store, user, { clock, limits, logger, health });
    const runtime: Runtime = {
      ...this.#shared,
      agent,
      restartable,
      deadlines,
      keptClaims,
      charge,
      telemetry,
      clients,
      logger,
      limits,
      storeFor,
      store: storeFor("call"),
      taskUse: new TaskUse(),
      // Written after the answers, so no caller waits.
      conversations: this.#openConversations(
        { ...this.#shared, store: storeFor("sweep"), limits, logger },
        options.conversations,
      ),
      quota: createTaskQuota(storeFor("send"), limits),
      reads: createReadGate(limits.readsPerOwner, { clock, limits }, this.#process.readMemory),
      startTurn: (start, target) => startTurn(runtime, start, target),
    };
    this.use(runtime);
    this.#member ??= this.#process.heartbeat.join(() => this.#latest());
    return runtime;
  }

  /** Makes a runtime the latest. */
  use(runtime: Runtime): void {
    this.#shared.turns.limit(runtime.limits);
    this.#current = runtime;
    this.#sweeping = { ...runtime, store: runtime.storeFor("sweep") };
  }

  /** Whether this is the latest release, which reports the statistics that all releases share. */
  isLatest(runtime: Runtime): boolean {
    return this.#current === runtime;
  }

  #latest(): Runtime {
    if (this.#sweeping === undefined) throw new TypeError("no release of the agent is open");
    return this.#sweeping;
  }

  // Releases with the same settings share them, so that the next one knows what still waits to be written.
  #openConversations(
    deps: DirectReplyDeps,
    options: ConversationOptions | false | undefined,
  ): AgentConversations | undefined {
    const settings = JSON.stringify([options, deps.limits]);
    if (this.#conversations?.settings !== settings) {
      this.#conversations?.current?.replies.flushNow();
      this.#conversations = { settings, current: openConversations(deps, options) };
    }
    return this.#conversations.current;
  }

  /** Starts no more work by itself. */
  stopNewWork(): void {
    this.#member?.stopNewWork();
  }

  /** Releases what the handler has in its process, once no turn runs. */
  async close(): Promise<void> {
    await this.#conversations?.current?.replies.close();
    const { watch, alarm, turns } = this.#shared;
    watch.close();
    alarm.close();
    turns.close();
    await this.#member?.leave();
  }
}

function startTurn(runtime: Runtime, start: TurnStart, target: TurnTarget): void {
  markStarted(start);
  const { configuration } = start.send;
  const early = configuration?.returnImmediately === true ? "next" : "later";
  // The caller needs a task from the start: to find it by its name, or for its webhook.
  const hasWebhook = configuration?.taskPushNotificationConfig !== undefined;
  const atOnce = "receiver" in target && (target.name !== undefined || hasWebhook);
  new TurnRun(runtime, start, target).run(atOnce ? "at once" : early);
}

async function wakeDueTasks(runtime: Runtime): Promise<void> {
  const releaseShutdown = runtime.turns.holdShutdown();
  try {
    await wakeDue(runtime);
  } catch (error) {
    runtime.logger.warn({ err: error }, "parked tasks could not be woken: the next heartbeat tries again");
  } finally {
    releaseShutdown();
  }
}
