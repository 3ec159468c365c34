import type { Agent } from "./agent.js";
import type { Alarm } from "./alarm.js";
import type { SendClaim } from "./ports.js";
import type { LiveTask } from "./task/live-task.js";
import type { LiveTaskDeps } from "./task/live-task-deps.js";
import type { TurnCounter } from "./turn-counter.js";
import type { TurnStart, TurnSubject } from "./turn-start.js";

/** What all turns and operations of one request handler share. */
export interface Runtime extends LiveTaskDeps {
  readonly agent: Agent;
  /** Which agent of the store it is. */
  readonly agentId: string;
  /** A turn whose process has gone is run again. */
  readonly restartable: boolean;
  /** Looks for parked tasks whose time has come. */
  readonly alarm: Alarm;
  readonly newId: () => string;
  /** Tasks that a turn of this handler runs, by id. */
  readonly live: Map<string, LiveTask>;
  /** Sends that this process is bringing to their task or reply, by entry. */
  readonly sending: Set<string>;
  /** Sends whose record may name this process, though no call here works on them any more; by entry. */
  readonly givenUp: Map<string, { readonly claim: SendClaim; readonly since: number }>;
  /** Claims that are under way, by task id. */
  readonly claiming: Map<string, Promise<void>>;
  readonly turns: TurnCounter;
  /** Subscriptions that are open. */
  readonly subscriptions: Set<{ dismiss(error: unknown): void }>;
  /** Starts a turn, which runs by itself from then on. */
  startTurn(start: TurnStart, subject: TurnSubject): void;
}
