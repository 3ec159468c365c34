import {
  type Append,
  type Clock,
  callMethod,
  createPort,
  type LogRecord,
  type NewTask,
  type PushStore,
  pushCalls,
  type Store,
  type StoredTask,
  taskCalls,
} from "../../core/ports.js";
import { noop } from "../../protocol/async/noop.js";
import { systemClock } from "../../protocol/async/system-clock.js";
import type { Logger } from "../../protocol/logger.js";
import type { TaskArtifactUpdateEvent } from "../../protocol/model.js";
import {
  assertNumbered,
  checkContextValue,
  checkNewSend,
  checkNewTask,
  checkRegistration,
  closedError,
} from "../refusals.js";
import { createStoreLogger, type StoreLogger } from "../store-logger.js";
import { type RetentionOptions, resolveRetention, startMaintenance } from "./maintenance.js";
import { createMigrationReport, type MigrationReport } from "./migration-report.js";
import {
  batchFromRow,
  conversationFromRow,
  conversationToRow,
  inboxFromRow,
  inboxToRow,
  type LogBatch,
  logToRow,
  outcomeFromRow,
  outcomeToRow,
  pushFromRow,
  pushToRow,
  snapshotFromRow,
  snapshotToRow,
  statusToRow,
  summaryFromRow,
} from "./payload.js";
import type {
  AppendRow,
  Backend,
  LogRow,
  NewTaskRow,
  PlainPushMethods,
  PlainTaskMethods,
  SendRecordRow,
  StoredTaskRow,
} from "./rows.js";
import { storeErrorFrom } from "./store-error.js";

// The stores over a database, of tasks and of push configurations, for both databases. Messages become bytes here, and
// rows become messages; the rest is the database's (`Backend` in `rows.ts`). Every call waits until the database is
// open.
//
// `kysely-backend.ts` is the backend of both. A `SqlDialect` and a `HotPath` (creates and appends) hold what differs.
// SQLite runs in a worker thread, and all writes of a moment are one transaction. On PostgreSQL they are one statement,
// in which a stale writer fails alone.
//
// So an append is written in two steps. `append` checks that its records follow the log, and encodes them as an `AppendRow`
// (`payload.ts`). The hot path judges the row by its fence, then writes a row of the log, the columns of the head that changed,
// the snapshot and the entries of the conversation if it has any, takes entries from the inbox, and moves the counters of
// states: `sqlite/flush.ts`, `postgres/flush-statement.ts`.

/** Options of a store over a database. */
export interface SqlStoreOptions {
  /** Time, for tests. Default: the machine's time. */
  readonly clock?: Clock | undefined;
  /** How long finished tasks are kept. Default: the defaults of `RetentionOptions`. */
  readonly retention?: RetentionOptions | undefined;
  /** Time between two rounds of pruning, in milliseconds. Default: 60,000. */
  readonly pruneEveryMs?: number | undefined;
  /**
   * Receives records of migrations, of retention and of hints; `false` for none. Default: the logger of the server that
   * opens the store.
   */
  readonly logger?: Logger | false | undefined;
}

/** A store over one database. The first call opens it, unless it is open already. */
export function createSqlStore(
  backend: Backend,
  options: SqlStoreOptions = {},
  logger: StoreLogger = createStoreLogger(options.logger),
): Store {
  const { clock = systemClock, pruneEveryMs: everyMs = 60_000 } = options;
  const retention = resolveRetention(options.retention);
  let stop = async (): Promise<void> => {};
  const migration = createMigrationReport({ clock, report: (line, facts) => logger.info(facts, line) });
  const lifecycle = new DatabaseLifecycle(backend, migration, () => {
    stop = startMaintenance(backend, { clock, retention, everyMs, logger });
  });
  return {
    ...createPort<PlainTaskMethods>(
      taskCalls,
      (method) =>
        (...args) =>
          lifecycle.ask((backend) => callMethod(backend, method, args)),
    ),
    // The calls whose arguments or answers contain payloads; the database takes the others as they are.
    async create(task) {
      checkNewTask(task);
      const row = newTaskToRow(task);
      return lifecycle.ask((backend) => backend.create(row));
    },
    async append(write) {
      const row = appendToRow(write);
      return lifecycle.ask((backend) => backend.append(row));
    },
    async read(scope, id) {
      const row = await lifecycle.ask((backend) => backend.read(scope, id));
      return row === undefined ? undefined : taskFromRow(row);
    },
    async recordsAfter(key, after, limit) {
      const page = await lifecycle.ask((backend) => backend.recordsAfter(key, after, limit));
      if (page === undefined || page === "compacted") return page;
      const batches = page.log.map(batchFromRow);
      const records = recordsBehind(batches, after).slice(0, limit);
      if (!batches.some(mayLackFirstChunk)) return { head: page.head, records };
      const seenIds = await artifactsBefore(after, (from) =>
        lifecycle.ask((backend) => backend.recordsAfter(key, from, limit)),
      );
      return { head: page.head, records: seenIds === undefined ? records : markFirstChunks(records, seenIds) };
    },
    async recordsAt(key, seqs) {
      const rows = await lifecycle.ask((backend) => backend.recordsAt(key, seqs));
      return rows.flatMap((row) => batchFromRow(row).records).filter(({ seq }) => seqs.includes(seq));
    },
    async list(scope, query) {
      const { tasks, total, more } = await lifecycle.ask((backend) => backend.list(scope, query));
      return { tasks: tasks.map(taskFromRow), total, more };
    },
    async put(key, entry, maxMessages, fence) {
      const row = inboxToRow(entry);
      return lifecycle.ask((backend) => backend.put(key, row, maxMessages, fence));
    },
    async inbox(key) {
      const { entries, inboxPut } = await lifecycle.ask((backend) => backend.inbox(key));
      return { entries: entries.map(inboxFromRow), inboxPut };
    },
    async beginSend(send) {
      checkNewSend(send);
      return sendFromRow(await lifecycle.ask((backend) => backend.beginSend(send)));
    },
    async readSend(scope, messageId) {
      const row = await lifecycle.ask((backend) => backend.readSend(scope, messageId));
      return row === undefined ? undefined : sendFromRow(row);
    },
    async settleSend(claim, outcome) {
      const row = outcomeToRow(outcome);
      return lifecycle.ask((backend) => backend.settleSend(claim, row));
    },
    async addToConversations(writes) {
      const rows = writes.map(conversationToRow);
      return lifecycle.ask((backend) => backend.addToConversations(rows));
    },
    async readConversation(scope, contextId, query) {
      const rows = await lifecycle.ask((backend) => backend.readConversation(scope, contextId, query));
      return rows.map((row) => conversationFromRow(row, contextId));
    },
    async writeContextValue(scope, contextId, write) {
      checkContextValue(scope, contextId, write.name);
      return lifecycle.ask((backend) => backend.writeContextValue(scope, contextId, write));
    },
    push: createSqlPushStore(lifecycle),
    ...(backend.onFlush === undefined ? {} : { onFlush: backend.onFlush }),
    open(opener) {
      logger.useFallback(opener);
      return lifecycle.open();
    },
    close: () => lifecycle.close(() => stop()),
  };
}

function newTaskToRow(task: NewTask): NewTaskRow {
  const { id, contextId, scope, holder, version, name, status } = task;
  return { id, contextId, scope, holder, version, name, ...bodyToRow(task, 0), status: statusToRow(status) };
}

function appendToRow(write: Append): AppendRow {
  const { key, epoch, seq, claim } = write;
  return { key, epoch, seq, claim, ...bodyToRow(write, seq) };
}

function bodyToRow({ records, status, snapshot, end, takes = [], conversation }: NewTask | Append, after: number) {
  assertNumbered(records, after);
  return {
    log: logToRow(records),
    status: status === undefined ? undefined : statusToRow(status),
    snapshot: snapshot === undefined ? undefined : snapshotToRow(after + records.length, snapshot.task),
    end,
    takes,
    turnSeq: records.findLast(({ kind }) => kind === "turnStarted")?.seq ?? 0,
    conversation: conversation === undefined ? undefined : conversationToRow(conversation),
  };
}

function taskFromRow({ head, summary, snapshot, log }: StoredTaskRow): StoredTask {
  if (summary !== undefined) return { head, snapshot: summaryFromRow(head, summary), records: [] };
  return {
    head,
    snapshot: snapshot === undefined ? undefined : snapshotFromRow(snapshot),
    records: recordsBehind(log.map(batchFromRow), snapshot?.seq ?? 0),
  };
}

/** A row that starts before `after` also has records that were not requested. */
function recordsBehind(log: readonly LogBatch[], after: number): readonly LogRecord[] {
  const records = log.flatMap((batch) => batch.records);
  const first = records[0]?.seq ?? after + 1;
  return first > after ? records : records.slice(after + 1 - first);
}

/** Whether a row of an earlier release has a chunk that appends, which may be the first one of its artifact. */
function mayLackFirstChunk({ records, hasFirstChunks }: LogBatch): boolean {
  return !hasFirstChunks && records.some((record) => findChunk(record)?.append === true);
}

/**
 * The ids of the artifacts in the records up to a number; `undefined` if the log no longer has all of these records.
 */
async function artifactsBefore(
  end: number,
  readAfter: (after: number) => Promise<{ readonly log: readonly LogRow[] } | "compacted" | undefined>,
): Promise<Set<string> | undefined> {
  const ids = new Set<string>();
  for (let position = 0; position < end; ) {
    const page = await readAfter(position);
    if (page === undefined || page === "compacted") return undefined;
    const records = recordsBehind(page.log.map(batchFromRow), position);
    const last = records.at(-1);
    if (last === undefined) return undefined;
    for (const record of records) {
      const id = record.seq <= end ? findChunk(record)?.artifact?.artifactId : undefined;
      if (id !== undefined) ids.add(id);
    }
    position = last.seq;
  }
  return ids;
}

function markFirstChunks(records: readonly LogRecord[], seenIds: Set<string>): readonly LogRecord[] {
  for (const record of records) {
    const chunk = findChunk(record);
    const id = chunk?.artifact?.artifactId;
    if (chunk === undefined || id === undefined) continue;
    if (!seenIds.has(id)) chunk.append = false;
    seenIds.add(id);
  }
  return records;
}

function findChunk(record: LogRecord): TaskArtifactUpdateEvent | undefined {
  if (record.kind !== "event") return undefined;
  const { payload } = record.event;
  return payload.case === "artifactUpdate" ? payload.value : undefined;
}

function sendFromRow({ outcome, ...record }: SendRecordRow) {
  return { ...record, outcome: outcome === undefined ? undefined : outcomeFromRow(outcome) };
}

/** The push store of a SQL store. Closing it does nothing: it stays open with its store. */
function createSqlPushStore(lifecycle: DatabaseLifecycle): PushStore {
  return {
    ...createPort<PlainPushMethods>(
      pushCalls,
      (method) =>
        (...args) =>
          lifecycle.ask(({ push }) => callMethod(push, method, args)),
    ),
    async set(registration, max) {
      checkRegistration(registration);
      const row = pushToRow(registration);
      return lifecycle.ask((backend) => backend.push.set(row, max));
    },
    async get(key, id) {
      const row = await lifecycle.ask((backend) => backend.push.get(key, id));
      return row === undefined ? undefined : pushFromRow(row);
    },
    async list(key) {
      const rows = await lifecycle.ask((backend) => backend.push.list(key));
      return rows.map(pushFromRow);
    },
    async adopt(agent, instance, limit) {
      const rows = await lifecycle.ask((backend) => backend.push.adopt(agent, instance, limit));
      return rows.map(pushFromRow);
    },
    async close() {},
  };
}

/** Guards every call of the database: it opens the database first, refuses calls after closing, and explains errors. */
class DatabaseLifecycle {
  readonly #backend: Backend;
  readonly #migration: MigrationReport;
  readonly #onOpen: () => void;
  #opening: Promise<void> | undefined;
  #isOpen = false;
  #closing: Promise<void> | undefined;

  /** `migration`: receives the progress while the database opens. `onOpen`: called once, when the database is ready. */
  constructor(backend: Backend, migration: MigrationReport, onOpen: () => void) {
    this.#backend = backend;
    this.#migration = migration;
    this.#onOpen = onOpen;
  }

  open(): Promise<void> {
    if (this.#closing !== undefined) return Promise.reject(closedError());
    this.#opening ??= this.#tryOpen();
    return this.#opening;
  }

  async #tryOpen(): Promise<void> {
    try {
      await this.#backend.open(this.#migration.report);
    } catch (error) {
      // The cause may disappear, so the next call tries again.
      this.#opening = undefined;
      throw storeErrorFrom(error);
    } finally {
      this.#migration.end();
    }
    if (this.#closing !== undefined) throw closedError();
    this.#isOpen = true;
    this.#onOpen();
  }

  async ask<T>(call: (backend: Backend) => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw closedError();
    if (!this.#isOpen) await this.open();
    try {
      return await call(this.#backend);
    } catch (error) {
      throw storeErrorFrom(error);
    }
  }

  /** Refuses new calls, and closes the database once `before` has resolved. */
  close(before: () => Promise<void>): Promise<void> {
    this.#closing ??= this.#closeAfter(before);
    return this.#closing;
  }

  async #closeAfter(before: () => Promise<void>): Promise<void> {
    await this.#opening?.catch(noop);
    await before();
    await this.#backend.close();
  }
}
