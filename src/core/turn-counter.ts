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
  readonly running: ReadonlySet<CountedTurn>;
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
  const running = new Set<CountedTurn>();
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
