import { noop } from "../../protocol/async/noop.js";
import { closedError } from "../refusals.js";
import type { MigrationReport } from "./migration-report.js";
import type { Backend } from "./rows.js";
import { storeErrorFrom } from "./store-error.js";

/** Guards every call to the database: it opens the database first, refuses calls after closing, and explains errors. */
export interface DatabaseLifecycle {
  open(): Promise<void>;
  ask<T>(call: (backend: Backend) => Promise<T>): Promise<T>;
  /** Refuses new calls, and closes the database once `before` has resolved. */
  close(before: () => Promise<void>): Promise<void>;
}

export interface LifecycleOptions {
  /** Called once, when the database is ready. */
  onOpen(): void;
  /** Receives the progress of a migration while the database opens. */
  readonly migration: MigrationReport;
}

export function createDatabaseLifecycle(backend: Backend, { onOpen, migration }: LifecycleOptions): DatabaseLifecycle {
  let opening: Promise<void> | undefined;
  let isOpen = false;
  let closing: Promise<void> | undefined;

  async function tryOpen(): Promise<void> {
    try {
      await backend.open(migration.report);
    } catch (error) {
      // The cause may disappear, so the next call tries again.
      opening = undefined;
      throw storeErrorFrom(error);
    } finally {
      migration.end();
    }
    if (closing !== undefined) throw closedError();
    isOpen = true;
    onOpen();
  }

  function open(): Promise<void> {
    if (closing !== undefined) return Promise.reject(closedError());
    opening ??= tryOpen();
    return opening;
  }

  async function askOpen<T>(call: (backend: Backend) => Promise<T>): Promise<T> {
    if (!isOpen) await open();
    try {
      return await call(backend);
    } catch (error) {
      throw storeErrorFrom(error);
    }
  }

  async function closeAfter(before: () => Promise<void>): Promise<void> {
    await opening?.catch(noop);
    await before();
    await backend.close();
  }

  return {
    open,
    ask: (call) => (closing === undefined ? askOpen(call) : Promise.reject(closedError())),
    close(before) {
      closing ??= closeAfter(before);
      return closing;
    },
  };
}
