import type { Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import type { Agent } from "./agent.js";
import type { Alarm } from "./alarm.js";
import type { LiveTask, LiveTaskDeps } from "./live-task.js";
import type { SendClaim } from "./ports.js";
import type { TurnRun } from "./turn-run.js";
import type { TurnStart, TurnSubject } from "./turn-start.js";

/** What all turns and operations of one request handler share. */
export interface Runtime extends LiveTaskDeps {
  readonly agent: Agent;
  /** A turn whose process has gone is run again. */
  readonly restartable: boolean;
  /** Looks for parked tasks whose time has come. */
  readonly alarm: Alarm;
  readonly newId: () => string;
  /** Tasks that a turn of this handler runs, by id. */
  readonly live: Map<string, LiveTask>;
  /** Sends that this process is bringing to their task or reply, by entry. */
  readonly sending: Set<string>;
  /** Sends whose record may name this process, though nobody here works on them any more; by entry. */
  readonly givenUp: Map<string, { readonly claim: SendClaim; readonly since: number }>;
  /** Claims that are under way, by task id. */
  readonly claiming: Map<string, Promise<void>>;
  readonly turns: TurnCounter;
  /** Subscriptions that are open. */
  readonly subscriptions: Set<{ dismiss(error: unknown): void }>;
  /** Starts a turn, which runs by itself from then on. */
  startTurn(start: TurnStart, subject: TurnSubject): void;
}

/** The turns that run, counted by owner. */
export interface TurnCounter {
  readonly running: ReadonlySet<TurnRun>;
  /** Throws `resourceExhausted` or, while draining, `unavailable` when no turn may be started now. */
  check(scope: Scope): void;
  /** A turn may be about to start, which counts as one that runs until the function that it gives is called. */
  expect(): () => void;
  enter(turn: TurnRun): void;
  leave(turn: TurnRun): void;
  /** Tells all turns to stop, and from now on each that is started. */
  drain(): void;
  /** Resolves when none is left, and none expected. */
  idle(): Promise<void>;
}

export function createTurnCounter(limits: {
  readonly turnsPerOwner: number;
  readonly turnsPerProcess: number;
}): TurnCounter {
  const running = new Set<TurnRun>();
  const owners = new Map<string, number>();
  const waiters: (() => void)[] = [];
  let expected = 0;
  let draining = false;
  const isIdle = (): boolean => running.size === 0 && expected === 0;
  const settle = (): void => {
    if (isIdle()) for (const resolve of waiters.splice(0)) resolve();
  };
  return {
    running,
    check(scope) {
      if (draining) throw shuttingDown();
      const own = owners.get(ownerKey(scope)) ?? 0;
      if (own >= limits.turnsPerOwner) throw exhausted("of this caller", limits.turnsPerOwner);
      if (running.size >= limits.turnsPerProcess) throw exhausted("of the process", limits.turnsPerProcess);
    },
    expect() {
      expected += 1;
      let here = true;
      return () => {
        if (!here) return;
        here = false;
        expected -= 1;
        settle();
      };
    },
    enter(turn) {
      running.add(turn);
      const key = ownerKey(turn.scope);
      owners.set(key, (owners.get(key) ?? 0) + 1);
      if (draining) turn.abort("Draining");
    },
    leave(turn) {
      if (!running.delete(turn)) return;
      const key = ownerKey(turn.scope);
      const left = (owners.get(key) ?? 1) - 1;
      if (left === 0) owners.delete(key);
      else owners.set(key, left);
      settle();
    },
    drain() {
      draining = true;
      for (const turn of [...running]) turn.abort("Draining");
    },
    idle: () => (isIdle() ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  };
}

const ownerKey = ({ tenant, owner }: Scope): string => `${tenant}\n${owner}`;

function exhausted(whose: string, limit: number): A2AError {
  return new A2AError("resourceExhausted", `the turns ${whose} that run at once are at the limit of ${limit}`, {
    retryAfterMs: 1000,
  });
}

/** The answer to whoever comes too late. */
export function shuttingDown(): A2AError {
  return new A2AError("unavailable", "the server is shutting down", { retryAfterMs: 1000 });
}

/** A logger that adds the same fields to everything it is told. */
export function withFields(logger: Logger, fields: object): Logger {
  return {
    debug: (more, message) => logger.debug({ ...fields, ...more }, message),
    info: (more, message) => logger.info({ ...fields, ...more }, message),
    warn: (more, message) => logger.warn({ ...fields, ...more }, message),
    error: (more, message) => logger.error({ ...fields, ...more }, message),
  };
}
