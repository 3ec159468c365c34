import { createIdleCounter } from "../protocol/async/idle-counter.js";
import type { Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { AbortKind } from "./agent.js";

/** A turn that runs in this process, as far as the counter sees it. */
interface CountedTurn {
  readonly scope: Scope;
  abort(kind: AbortKind): void;
}

/** The turns that run, counted by owner. */
export interface TurnCounter {
  readonly running: ReadonlyMap<CountedTurn, unknown>;
  /** Throws `resourceExhausted` or, while draining, `unavailable` when no turn may be started now. */
  check(scope: Scope): void;
  /** A turn may be about to start, which counts as one that runs until the function that it gives is called. */
  expect(): () => void;
  enter(turn: CountedTurn): void;
  leave(turn: CountedTurn): void;
  /** Tells all turns to stop, and from now on each that is started. */
  drain(): void;
  /** Resolves when none is left, and none expected. */
  idle(): Promise<void>;
}

export function createTurnCounter(limits: {
  readonly turnsPerOwner: number;
  readonly turnsPerProcess: number;
}): TurnCounter {
  const running = new Map<CountedTurn, () => void>();
  const owners = new Map<string, number>();
  const underway = createIdleCounter();
  let draining = false;
  return {
    running,
    check(scope) {
      if (draining) throw shuttingDown();
      const own = owners.get(ownerKey(scope)) ?? 0;
      if (own >= limits.turnsPerOwner)
        throw exhausted("turns of this caller", `${limits.turnsPerOwner} (turnsPerOwner)`);
      if (running.size >= limits.turnsPerProcess)
        throw exhausted("turns in the process", `${limits.turnsPerProcess} (turnsPerProcess)`);
    },
    expect: underway.enter,
    enter(turn) {
      running.set(turn, underway.enter());
      const key = ownerKey(turn.scope);
      owners.set(key, (owners.get(key) ?? 0) + 1);
      if (draining) turn.abort("Draining");
    },
    leave(turn) {
      const left = running.get(turn);
      if (left === undefined) return;
      running.delete(turn);
      const key = ownerKey(turn.scope);
      const others = (owners.get(key) ?? 1) - 1;
      if (others === 0) owners.delete(key);
      else owners.set(key, others);
      left();
    },
    drain() {
      draining = true;
      for (const turn of [...running.keys()]) turn.abort("Draining");
    },
    idle: underway.idle,
  };
}

const ownerKey = ({ tenant, owner }: Scope): string => `${tenant}\n${owner}`;

function exhausted(what: string, limit: string): A2AError {
  return new A2AError("resourceExhausted", `too many ${what}: the limit is ${limit}`, { retryAfterMs: 1000 });
}

/** The error for calls during shutdown. */
export function shuttingDown(): A2AError {
  return new A2AError("unavailable", "the server is shutting down", { retryAfterMs: 1000 });
}
