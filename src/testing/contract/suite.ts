import { setTimeout } from "node:timers/promises";
import type { PushStore, Signals, TaskStore } from "../../core/ports.js";

/** One test of a contract. */
export interface ContractTest {
  readonly name: string;
  /** Rejects with an `AssertionError` that says what is wrong. */
  run(): Promise<void>;
}

/** Collects the tests of a contract. */
export interface Suite {
  describe(name: string, body: () => void): void;
  it(title: string, body: () => Promise<void>): void;
}

/** A store under test: new, empty, and closed by the suite. */
export interface Subject<S> {
  readonly store: S;
  /** Turns the store's clock. Default: waits, for a store with a clock of its own. */
  readonly advance?: ((ms: number) => Promise<void>) | undefined;
}

export interface PushSubject extends Subject<PushStore> {
  /** The task store in the same place, when the push store knows its tasks and instances. The suite closes it after that. */
  readonly tasks?: TaskStore | undefined;
}

export type MakeTaskStore = () => Promise<Subject<TaskStore>>;
export type MakePushStore = () => Promise<PushSubject>;
/** Two ends of one network of hints; the same object where there is but one. */
export type MakeSignals = () => Promise<{ readonly here: Signals; readonly there: Signals }>;

/** The collected tests, each with its full name. */
export function testsOf(tell: (suite: Suite) => void): readonly ContractTest[] {
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

/** A test that is given a store of its own. */
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
