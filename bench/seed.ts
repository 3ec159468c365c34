/**
 * `node bench/seed.ts ours|peer FILE COUNT`: a file of SQLite with so many finished tasks, for our store or that of
 * `@a2a-js/sdk`. The server makes one task of each kind; their rows, whatever they are, are then copied with ids and times
 * of their own, one in a hundred FAILED, the others COMPLETED, 50 ms apart, up to now.
 */
import { randomUUID } from "node:crypto";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { startOnFile } from "./files.ts";
import { post } from "./load/http.ts";
import { apartMs, failedEach, longContextAt, longContextEach, type SeededSide } from "./seeded.ts";
import { jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "./wire.ts";

const contextSize = 10;
const perTransaction = 50_000;

/** Tables of a task, and their columns that are keys and times. */
const layouts = {
  ours: {
    tables: { trivium_tasks: "key", trivium_snapshots: "key", trivium_log: "key" },
    key: "key",
    times: ["status_time", "finished_at", "logged_at"],
  },
  peer: { tables: { tasks: "id" }, key: undefined, times: ["status_last_updated"] },
} as const;

const [, , side, file, countText] = process.argv;
if ((side !== "ours" && side !== "peer") || file === undefined) throw new Error("ours|peer FILE COUNT are wanted");
const began = performance.now();
await seedFile(side, file, Number(countText ?? 1_000_000));
process.stdout.write(`${((performance.now() - began) / 1000).toFixed(1)} s\n`);

type Value = SQLInputValue;
type Values = Record<string, Value>;

interface Template {
  readonly id: string;
  readonly contextId: string;
  readonly rows: readonly { readonly table: string; readonly row: Values }[];
}

/** What tells a copy from its template. */
interface Copy {
  readonly key: number;
  readonly id: string;
  readonly contextId: string;
  readonly time: number;
}

async function seedFile(side: SeededSide, file: string, count: number): Promise<void> {
  const templateRows = await makeTemplates(side, file);
  const database = new DatabaseSync(file);
  try {
    for (const pragma of ["synchronous = off", "cache_size = -1000000"]) database.exec(`pragma ${pragma}`);
    const templates = templateRows.map(({ id, contextId }) => readTemplate(database, side, { id, contextId }));
    const longContext = randomUUID();
    const end = Date.now();
    const msOf = (index: number) => end - (count - index) * apartMs;
    copyAll({ database, side, templates, count, longContext, msOf });
    dropTemplates(database, side, templates);
    if (side === "ours") recount(database);
    database.exec("pragma wal_checkpoint(truncate)");
  } finally {
    database.close();
  }
}

interface TemplateRows {
  readonly id: string;
  readonly contextId: string;
}

async function makeTemplates(side: SeededSide, file: string): Promise<readonly TemplateRows[]> {
  await using server = await startOnFile(side, file);
  const rows: TemplateRows[] = [];
  for (const verb of ["task", "fail"]) {
    const call = jsonRpcCall("SendMessage", (n) => sendParams(verb, n));
    const { task } = jsonRpcResult<PayloadJson>(await post(server.http, call, rows.length), rows.length);
    if (!task?.id || !task.contextId) throw new Error("the server made no task");
    rows.push({ id: task.id, contextId: task.contextId });
  }
  return rows;
}

function readTemplate(database: DatabaseSync, side: SeededSide, { id, contextId }: TemplateRows): Template {
  const layout = layouts[side];
  const [head] = Object.keys(layout.tables);
  const row = database.prepare(`select * from ${head} where id = ?`).get(id);
  if (row === undefined) throw new Error("the task is not in the file");
  const rows = Object.entries(layout.tables).flatMap(([table, by]) =>
    database
      .prepare(`select * from ${table} where ${by} = ?`)
      .all(row[by] ?? null)
      .map((row) => ({ table, row })),
  );
  return { id, contextId, rows };
}

interface Work {
  readonly database: DatabaseSync;
  readonly side: SeededSide;
  readonly templates: readonly Template[];
  readonly count: number;
  readonly longContext: string;
  msOf(index: number): number;
}

function copyAll({ database, side, templates, count, longContext, msOf }: Work): void {
  const copiers = templates.map((template) => copier(database, side, template));
  let contextId = "";
  database.exec("begin");
  for (let index = 0; index < count; index++) {
    if (index % contextSize === 0 || contextId === "") contextId = randomUUID();
    const copy = copiers[index % failedEach === 0 ? 1 : 0];
    const context = index % longContextEach === longContextAt ? longContext : contextId;
    const time = msOf(index);
    copy?.({ key: templates.length + index + 1, id: idOf(side, time), contextId: context, time });
    if (index % perTransaction === 0) database.exec("commit; begin");
  }
  database.exec("commit");
}

/** Ids as each of them makes them: ours ascend with time. */
function idOf(side: SeededSide, time: number): string {
  const id = randomUUID();
  if (side === "peer") return id;
  const hex = time.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${id.slice(15)}`;
}

function copier(database: DatabaseSync, side: SeededSide, template: Template): (copy: Copy) => void {
  const { key, times } = layouts[side];
  const inserts = template.rows.map(({ table, row }) => {
    const names = Object.keys(row);
    const text = `insert into ${table} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`;
    const statement: StatementSync = database.prepare(text);
    const value = (name: string): ((copy: Copy) => Value) => {
      const oldValue = row[name] ?? null;
      if (name === key) return (copy) => copy.key;
      if (times.some((time) => time === name) && oldValue !== null) return (copy) => copy.time;
      return replaceIds(oldValue, template);
    };
    const values = names.map(value);
    return (copy: Copy) => statement.run(...values.map((of) => of(copy)));
  });
  return (copy) => {
    for (const insert of inserts) insert(copy);
  };
}

/** The value with the ids of the copy where those of the template were; the ones are as long as the others. */
function replaceIds(oldValue: Value, { id, contextId }: Template): (copy: Copy) => Value {
  if (typeof oldValue !== "string" && !(oldValue instanceof Uint8Array)) return () => oldValue;
  const bytes = Buffer.from(typeof oldValue === "string" ? Buffer.from(oldValue) : oldValue);
  const ids = placesOf(bytes, id);
  const contexts = placesOf(bytes, contextId);
  if (ids.length === 0 && contexts.length === 0) return () => oldValue;
  return (copy) => {
    const copyBytes = Buffer.from(bytes);
    for (const at of ids) copyBytes.write(copy.id, at, "latin1");
    for (const at of contexts) copyBytes.write(copy.contextId, at, "latin1");
    return typeof oldValue === "string" ? copyBytes.toString() : copyBytes;
  };
}

function placesOf(bytes: Buffer, text: string): readonly number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length)) places.push(at);
  return places;
}

function dropTemplates(database: DatabaseSync, side: SeededSide, templates: readonly Template[]): void {
  const { tables } = layouts[side];
  for (const { rows } of templates) {
    for (const { table, row } of rows) {
      const by = Object.entries(tables).find(([name]) => name === table)?.[1];
      if (by !== undefined) database.prepare(`delete from ${table} where ${by} = ?`).run(row[by] ?? null);
    }
  }
}

/** The counters of our store, by state and by ten minutes of time, which its own writes keep. */
function recount(database: DatabaseSync): void {
  database.exec(`begin;
    delete from trivium_counts;
    insert into trivium_counts (tenant, owner, state, shard, count)
      select tenant, owner, state, '', count(*) from trivium_tasks group by tenant, owner, state;
    delete from trivium_periods;
    insert into trivium_periods (tenant, owner, period, state, shard, count)
      select tenant, owner, status_time / 600000, state, '', count(*) from trivium_tasks group by 1, 2, 3, 4;
    commit`);
}
