import type { Scope } from "../../protocol/context.js";
import { scopeKey } from "../../protocol/fair-share.js";
import { periodOf } from "../sql/periods.js";
import type { StatusRow } from "../sql/rows.js";
import type { Statements } from "./statements.js";

/** Changes of the task counters within a transaction: each counter is written once, however many tasks change it. */
export interface CounterDeltas {
  /** A task entered a state at a time, or (-1) left it. */
  count(scope: Scope, status: Pick<StatusRow, "state" | "time">, change: 1 | -1): void;
  /** Writes the changes and starts over. */
  write(statements: Pick<Statements, "count" | "countPeriod">): void;
}

interface Counter extends Scope {
  readonly state: number;
  readonly period: number;
  change: number;
}

export function createCounterDeltas(): CounterDeltas {
  const counters = new Map<string, Counter>();
  return {
    count(scope, { state, time }, change) {
      const period = periodOf(time);
      const name = `${state} ${period} ${scopeKey(scope)}`;
      const counter = counters.get(name);
      if (counter === undefined)
        counters.set(name, { agent: scope.agent, tenant: scope.tenant, owner: scope.owner, state, period, change });
      else counter.change += change;
    },
    write({ count, countPeriod }) {
      if (counters.size === 0) return;
      for (const { agent, tenant, owner, state, period, change } of counters.values()) {
        if (change !== 0) countPeriod.run(agent, tenant, owner, period, state, change);
      }
      for (const { agent, tenant, owner, state, change } of byState(counters.values())) {
        if (change !== 0) count.run(agent, tenant, owner, state, change);
      }
      counters.clear();
    },
  };
}

/** The same counters without their time. */
function byState(counters: Iterable<Counter>): Iterable<Counter> {
  const sums = new Map<string, Counter>();
  for (const counter of counters) {
    const { state, change } = counter;
    const name = `${state} ${scopeKey(counter)}`;
    const sum = sums.get(name);
    if (sum === undefined) sums.set(name, { ...counter });
    else sum.change += change;
  }
  return sums.values();
}
