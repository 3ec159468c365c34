import { setTimeout } from "node:timers/promises";
import type { PushStore, RateStore, Signals, TaskStore } from "../../core/ports.js";
import { object, type Rule, whole } from "../../protocol/check/rules.js";

/** The rules of the options of a contract with random histories. */
export const historyRule: Rule = object({
  histories: { rule: whole(0) },
  // The seeds of fast-check may be negative.
  seed: { rule: (value, path) => (Number.isSafeInteger(value) ? [] : [`${path} must be a whole number`]) },
});

/** One test of a contract. */
export interface ContractTest {
  /** The full name of the test: a sentence about behavior. */
  readonly name: string;
  /** Rejects with an `AssertionError` that describes the failure. */
  run(): Promise<void>;
}

/** Collects the tests of a contract. */
export interface Suite {
  describe(name: string, body: () => void): void;
  it(title: string, body: () => Promise<void>): void;
}

/** A store under test: new and empty. The suite closes it. */
export interface Subject<S> {
  /** The store. */
  readonly store: S;
  /** Advances the store's clock. Default: waits in real time, for stores with a clock of their own. */
  readonly advance?: ((ms: number) => Promise<void>) | undefined;
}

/** A push store under test. */
export interface PushSubject extends Subject<PushStore> {
  /** The task store whose tasks and instances the push store knows. The suite closes it last. */
  readonly tasks?: TaskStore | undefined;
}

/** A rate store under test, as seen by two processes; both may be the same object. */
export interface RateSubject {
  /** The store of one process. */
  readonly here: RateStore;
  /** The store of another process. */
  readonly there: RateStore;
  /** Advances the clock of both. Default: waits in real time, for stores with a clock of their own. */
  readonly advance?: ((ms: number) => Promise<void>) | undefined;
}

/** Creates a task store for one test. */
export type MakeTaskStore = () => Promise<Subject<TaskStore>>;
/** Creates a push store for one test. */
export type MakePushStore = () => Promise<PushSubject>;
/** Creates a rate store for one test, or returns a used one. */
export type MakeRateStore = () => Promise<RateSubject>;
/** Creates two ends of a hint network, which may be the same object. */
export type MakeSignals = () => Promise<{ readonly here: Signals; readonly there: Signals }>;

/** Returns the collected tests, each with its full name. */
export function collectTests(tell: (suite: Suite) => void): readonly ContractTest[] {
  const tests: ContractTest[] = [];
  const path: string[] = [];
  tell({
    describe(name, body) {
      path.push(name);
      body();
      path.pop();
    },
    it(title, run) {
      tests.push({ name: [...path, title].join(" "), run });
    },
  });
  return tests;
}

/** Wraps a test so that it runs with a store of its own. */
export function withStore<S extends { close(): Promise<void> }>(
  make: () => Promise<Subject<S>>,
  body: (store: S, advance: (ms: number) => Promise<void>) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const { store, advance = (ms: number) => setTimeout(ms) } = await make();
    try {
      await body(store, advance);
    } finally {
      await store.close();
    }
  };
}
