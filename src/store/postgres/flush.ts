import { randomUUID } from "node:crypto";
import type { AppendResult, Head } from "../../core/ports.js";
import { A2AError } from "../../protocol/errors.js";
import { createGroupCommit, type FlushListener } from "../group-commit.js";
import type { HotPath } from "../sql/dialect.js";
import { insertedHead } from "../sql/inserted-head.js";
import type { AppendRow, ConversationWriteRow, NewTaskRow } from "../sql/rows.js";
import { flushText, flushValues, type InsertRow } from "./flush-statement.js";
import type { Pool } from "./pool.js";

// The writes that every event makes: creations, appends and entries of conversations. Concurrent ones share a flush, and a
// flush is one statement or a few (`flush-statement.ts` has its text, which says what a write changes).
//
// A flush is done in rounds. A round takes the writes in order, as many as fit into 8 MiB, but only one for each task and
// name: a second one waits for the next round, and so do later writes of what it touches (`nextRound`). The statement of a
// round is a transaction. It answers for each write: stored, refused by its fence or its inbox, or `again`, when an entry was
// put into the inbox while the statement waited; such a write is repeated in the next round.
//
// If the server refuses the content of a statement, nothing of the round was written, and its halves are run by themselves,
// down to the one write that fails (`runOrSplit`). Any other error fails all writes that have no result yet. So each write gets
// one result, and the writes of one task are applied in the order in which they came.

export interface HotPathOptions {
  readonly pool: Pool;
  /** The shard of the counters to update. */
  readonly shard: string;
  /** The store's clock. Default: the database's clock. */
  readonly now?: (() => number) | undefined;
}

export interface PostgresHotPath extends HotPath {
  /** Resolves when no write is under way. */
  drain(): Promise<void>;
  /** Calls `listener` after each flush. */
  listen(listener: FlushListener): () => void;
}

/**
 * A plan fits the table sizes at planning time, and for a small table it reads all rows. So plans are renewed as tables
 * grow, whether or not PostgreSQL gathers statistics: planning the largest statement takes 3 ms.
 */
const writesPerPlan = 5_000;

/** Creations, appends and entries of conversations: concurrent ones share one statement. */
export function createHotPath(options: HotPathOptions): PostgresHotPath {
  let writesSincePlan = 0;
  const commits = createGroupCommit<Write, FlushResult>(
    (writes) => {
      writesSincePlan += writes.length;
      if (writesSincePlan >= writesPerPlan) {
        writesSincePlan = 0;
        options.pool.replan();
      }
      return flush(options, writes);
    },
    { gather: true },
  );
  return {
    async create(task) {
      const result = await commits.write({ kind: "create", row: task, incarnation: randomUUID().slice(0, 8) });
      if (typeof result === "string") throw new Error(`a new task was ${result}`);
      return result;
    },
    async append(row) {
      const result = await commits.write({ kind: "append", row });
      if (typeof result !== "string") throw new Error(`an append made the task ${result.id}`);
      return result;
    },
    async addToConversations(rows) {
      if (rows.length > 0) await commits.write({ kind: "conversations", rows });
    },
    drain: () => commits.drain(),
    listen: commits.listen,
  };
}

type Write =
  | { readonly kind: "append"; readonly row: AppendRow }
  | ({ readonly kind: "create" } & InsertRow)
  | { readonly kind: "conversations"; readonly rows: readonly ConversationWriteRow[] };
type FlushResult = AppendResult | Head;

/** The statement's result for a write whose row was found, or for a created task. */
interface FlushedRow {
  readonly key: number;
  readonly id: string | null;
  readonly verdict: "stored" | "inboxMoved" | "again" | "inserted";
  readonly live: boolean;
}

/** The writes of a flush that share one statement, by their index. */
interface Writes {
  readonly appends: ReadonlyMap<number, AppendRow>;
  readonly inserts: ReadonlyMap<number, InsertRow>;
  readonly conversations: ReadonlyMap<number, readonly ConversationWriteRow[]>;
}

interface Round extends Writes {
  readonly later: readonly number[];
}

const maxRoundBytes = 8 * 2 ** 20;

async function flush(options: HotPathOptions, writes: readonly Write[]): Promise<readonly (FlushResult | Error)[]> {
  const results = new Map<number, FlushResult | Error>();
  let queue: readonly number[] = writes.map((_, index) => index);
  while (queue.length > 0) {
    const round = nextRound(writes, queue);
    let repeats: readonly number[] = [];
    try {
      repeats = await runOrSplit(options, round, results);
    } catch (error) {
      // Earlier statements are committed, and so are their results.
      const failure = error instanceof Error ? error : new Error("a flush failed", { cause: error });
      return writes.map((_, index) => results.get(index) ?? failure);
    }
    queue = [...repeats, ...round.later].toSorted((a, b) => a - b);
  }
  return writes.map((_, index) => results.get(index) ?? new Error("a write was not flushed"));
}

/** As many writes as fit, one per task: a second write of a task is applied after the first. */
function nextRound(writes: readonly Write[], queue: readonly number[]): Round {
  const appends = new Map<number, AppendRow>();
  const inserts = new Map<number, InsertRow>();
  const conversations = new Map<number, readonly ConversationWriteRow[]>();
  const later: number[] = [];
  const usedNames = new Set<string>();
  let bytes = 0;
  const join = (index: number, write: Write): void => {
    if (write.kind === "append") appends.set(index, write.row);
    else if (write.kind === "create") inserts.set(index, write);
    else conversations.set(index, write.rows);
  };
  for (const index of queue) {
    const write = writes[index];
    if (write === undefined) continue;
    const names = listNames(write);
    const size = measureWrite(write);
    const fits = bytes === 0 || bytes + size <= maxRoundBytes;
    const waits = !fits || names.some((name) => usedNames.has(name));
    if (waits) later.push(index);
    else join(index, write);
    // A waiting write also delays later ones of its task or context, which keeps their order.
    if (waits || write.kind !== "conversations") for (const name of names) usedNames.add(name);
    if (fits) bytes += size;
  }
  return { appends, inserts, conversations, later };
}

/** Names that two writes of one statement must not share, except entries of one context, which come in order. */
function listNames(write: Write): string[] {
  if (write.kind === "append") return [`${write.row.key}`];
  if (write.kind === "conversations")
    return write.rows.map(({ scope, contextId }) => JSON.stringify({ scope, contextId }));
  const { id, scope, name } = write.row;
  const names = [JSON.stringify([id])];
  if (name !== undefined) names.push(JSON.stringify([scope.agent, scope.tenant, scope.owner, name]));
  return names;
}

function measureWrite(write: Write): number {
  if (write.kind === "conversations") return measureEntries(...write.rows);
  const { log, snapshot, conversation } = write.row;
  const entries = conversation === undefined ? 0 : measureEntries(conversation);
  return (log?.bytes.length ?? 0) + (snapshot?.bytes.length ?? 0) + entries;
}

function measureEntries(...writes: readonly ConversationWriteRow[]): number {
  return writes.reduce((sum, { entries }) => entries.reduce((part, { bytes }) => part + bytes, sum), 0);
}

/**
 * Server codes for a statement refused because of its content: a value is out of range or too long, or a constraint or
 * a trigger refuses it. Any other failure would affect every write.
 */
const refusals = /^(?:0A|21|22|23|44|54|P0)/;

/**
 * Runs a round. A refused round is rolled back as a whole and repeated in halves, so that only the offending write
 * fails.
 */
async function runOrSplit(
  options: HotPathOptions,
  round: Writes,
  results: Map<number, FlushResult | Error>,
): Promise<readonly number[]> {
  try {
    return await runRound(options, round, results);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && refusals.test(`${error.code}`))) throw error;
    const indexes = [...round.appends.keys(), ...round.inserts.keys(), ...round.conversations.keys()];
    const [only] = indexes;
    if (indexes.length === 1 && only !== undefined) {
      results.set(only, error);
      return [];
    }
    const first = new Set(indexes.slice(0, indexes.length / 2));
    const repeats: number[] = [];
    for (const isFirst of [true, false]) {
      const half = pickWrites(round, (index) => first.has(index) === isFirst);
      repeats.push(...(await runOrSplit(options, half, results)));
    }
    return repeats;
  }
}

function pickWrites({ appends, inserts, conversations }: Writes, takes: (index: number) => boolean): Writes {
  return {
    appends: new Map([...appends].filter(([index]) => takes(index))),
    inserts: new Map([...inserts].filter(([index]) => takes(index))),
    conversations: new Map([...conversations].filter(([index]) => takes(index))),
  };
}

/** Runs the statement of a round and records its results. Returns the writes to repeat. */
async function runRound(
  options: HotPathOptions,
  round: Writes,
  results: Map<number, FlushResult | Error>,
): Promise<number[]> {
  const rows = await retryConflict(() => query(options, round));
  const verdicts = new Map(rows.filter(({ verdict }) => verdict !== "inserted").map((row) => [row.key, row.verdict]));
  const repeats: number[] = [];
  for (const [index, { key }] of round.appends) {
    const verdict = verdicts.get(key) ?? "fenced";
    if (verdict === "again") repeats.push(index);
    else if (verdict !== "inserted") results.set(index, verdict);
  }
  for (const index of round.conversations.keys()) results.set(index, "stored");
  const inserted = new Map(rows.filter(({ verdict }) => verdict === "inserted").map((row) => [row.id, row]));
  const conflicts: [number, NewTaskRow][] = [];
  for (const [index, insert] of round.inserts) {
    const row = inserted.get(insert.row.id);
    if (row === undefined) conflicts.push([index, insert.row]);
    else
      results.set(
        index,
        insertedHead(insert.row, { key: row.key, incarnation: insert.incarnation, holderLive: row.live }),
      );
  }
  if (conflicts.length > 0) await explainRefusals(options, conflicts, results);
  return repeats;
}

function query(
  { pool, shard, now }: HotPathOptions,
  { appends, inserts, conversations }: Writes,
): Promise<readonly FlushedRow[]> {
  const values = flushValues({
    appends: [...appends.values()].toSorted((a, b) => a.key - b.key),
    inserts: [...inserts.values()],
    conversations: [...conversations.values()].flat(),
  });
  return pool.query(flushText, [...values, shard, now?.() ?? null]);
}

const serializationFailures = ["40001", "40P01"];

/** Retries a statement that lost a deadlock or serialization conflict and changed nothing. */
export async function retryConflict<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Error && "code" in error && serializationFailures.includes(`${error.code}`))) throw error;
    return await run();
  }
}

/** Determines which existing task each uncreated task conflicts with. */
async function explainRefusals(
  { pool }: HotPathOptions,
  conflicts: readonly (readonly [number, NewTaskRow])[],
  results: Map<number, FlushResult | Error>,
): Promise<void> {
  const text = "select id from trivium_tasks where id = any($1::text[])";
  const rows = await pool.query<{ id: string }>(text, [conflicts.map(([, { id }]) => id)]);
  const existingIds = new Set(rows.map(({ id }) => id));
  for (const [index, { id, name }] of conflicts) {
    const conflict = existingIds.has(id) || name === undefined ? `id ${id}` : `name ${JSON.stringify(name)}`;
    results.set(index, new A2AError("internalError", `a task with the ${conflict} exists`));
  }
}
