import type { TaskStore } from "../../src/core/ports.js";
import { StoreError } from "../../src/store/sql/store-error.js";
import { around } from "./fault-store.js";

const needRoom: ReadonlySet<string> = new Set(["create", "append", "put", "beginSend"]);

/** The line to a store, which a test cuts and restores. */
export interface StoreLine<Port extends object = TaskStore> {
  /** The store at the other end. */
  readonly store: Port;
  /** Calls so far, by name. */
  readonly calls: readonly string[];
  /** From now on calls fail. */
  cut(): void;
  /** From now on calls of these methods, by default of all, are not answered. They reach the store when the line is restored. */
  hold(...methods: readonly (keyof Port)[]): void;
  /** From now on writes find no room. */
  fill(): void;
  restore(): void;
}

export function storeLine<Port extends object>(store: Port): StoreLine<Port> {
  const calls: string[] = [];
  let hinder: (method: string) => Promise<void> | undefined = () => undefined;
  let release = (): void => {};
  const restore = (): void => {
    hinder = () => undefined;
    release();
  };
  return {
    calls,
    store: around(store, async ({ method }, go) => {
      calls.push(method);
      await hinder(method);
      return go();
    }),
    restore,
    cut() {
      restore();
      hinder = () => Promise.reject(new StoreError("unreachable", "the database cannot be reached"));
    },
    hold(...methods) {
      restore();
      const { promise, resolve } = Promise.withResolvers<void>();
      release = resolve;
      hinder = (method) => (methods.length === 0 || methods.some((each) => each === method) ? promise : undefined);
    },
    fill() {
      restore();
      hinder = (method) =>
        needRoom.has(method) ? Promise.reject(new StoreError("full", "the database is full")) : undefined;
    },
  };
}
