import type { JsonObject } from "@bufbuild/protobuf";
import type { Principal, Scope } from "../protocol/context.js";
import type { Message } from "../protocol/model.js";
import type { TurnTelemetry } from "../protocol/telemetry/follow.js";
import type { Agent, TokenBudget } from "./agent.js";
import type { Alarm } from "./alarm.js";
import type { SendClaim, TaskStore } from "./ports.js";
import type { TaskQuota } from "./quota.js";
import type { ReadGate } from "./read-gate.js";
import type { RunningMemory } from "./running-memory.js";
import type { StoreUser } from "./store-guard.js";
import type { LiveTask, LiveTaskDeps } from "./task/live-task.js";
import type { TaskUse } from "./task-use.js";
import type { TurnSlots } from "./turn-slots.js";
import type { TurnClients, TurnStart, TurnTarget } from "./turn-start.js";
import type { TurnYields } from "./turn-yields.js";

/** Counts what a turn has used, whether or not so much is left. */
type ChargeTokens = (
  turn: { readonly scope: Scope; readonly message: Message },
  tokens: number,
) => Promise<TokenBudget>;

/** The parts of a runtime that stay when its agent is replaced: among them its tasks in this process. */
export interface HandlerParts extends Omit<LiveTaskDeps, "store" | "logger" | "limits" | "conversations"> {
  /** The agent's id in the store. */
  readonly agentId: string;
  readonly newId: () => string;
  /** Wakes parked tasks that are due. */
  readonly alarm: Alarm;
  /** Tasks that a turn of this handler runs, by id. */
  readonly live: Map<string, LiveTask>;
  /** Sends that this process is delivering, by entry. */
  readonly sending: Set<string>;
  /** Sends whose record may name this process although no call here works on them any more, by entry. */
  readonly abandonedSends: Map<string, { readonly claim: SendClaim; readonly abandonedAt: number }>;
  /** Claims under way, by task id. */
  readonly claiming: Map<string, Promise<void>>;
  /** Open subscriptions. */
  readonly subscriptions: Set<{ dismiss(error: unknown): void }>;
  readonly turns: TurnSlots;
  readonly yields: TurnYields;
  readonly memory: RunningMemory;
}

/** What all turns and operations of one release of an agent share. */
export interface Runtime extends HandlerParts, LiveTaskDeps {
  readonly agent: Agent;
  /** Turns of dead processes are re-run. */
  readonly restartable: boolean;
  /** Whether a caller's deadline ends only its wait, or also the turn that the call started. */
  readonly deadlines: "wait" | "abort";
  /** Returns the part of a principal that is stored with its message, beside owner and tenant. */
  readonly keptClaims?: ((principal: Principal) => JsonObject) | undefined;
  /** Makes clients of other agents of the process. `undefined` where there are none. */
  readonly clients?: TurnClients | undefined;
  /** The store as others use it. `store` is for operations and agents. */
  readonly storeFor: (user: StoreUser) => TaskStore;
  /** Bounds the reads of an owner. */
  readonly reads: ReadGate;
  readonly quota: TaskQuota;
  readonly taskUse: TaskUse;
  /** Follows turns. Absent without telemetry. */
  readonly telemetry: TurnTelemetry | undefined;
  /** Counts tokens against the budgets of a turn's caller. Without budgets it is missing. */
  readonly charge: ChargeTokens | undefined;
  /** Starts a turn, which then runs by itself. */
  startTurn(start: TurnStart, target: TurnTarget): void;
}
