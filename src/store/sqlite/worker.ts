import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { ReportMigration } from "../sql/migration-report.js";
import { openSqlite, type SqliteDatabase } from "./database.js";
import { runGroup } from "./group.js";
import { faultFrom, runRequest, type ThreadMessage, type ThreadReply, type ThreadRequest } from "./messages.js";
import { unpackWrites } from "./packed.js";
import type { SqliteSettings } from "./settings.js";

// The thread of the database. It opens the file at the first request, and answers requests one by one: a request may take
// several turns of the event loop, and nothing else runs in the middle of a write. Heartbeats overtake all others.

/** A first-in, first-out queue with constant cost per operation. */
class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Returns the oldest item without removing it. */
  peek(): T | undefined {
    return this.#items[this.#head];
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head += 1;
    // More than half of the array is consumed, so moving the rest costs less than what was taken since.
    if (this.#head > 32 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}

const port = parentPort;
const settings: SqliteSettings = workerData;
let database: SqliteDatabase | undefined;
let now: number | undefined;
const urgent = new Fifo<ThreadMessage>();
const normal = new Fifo<ThreadMessage>();
let isWorking = false;

port?.on("message", (message: ThreadMessage) => {
  enqueue(message);
  void work();
});

function enqueue(message: ThreadMessage): void {
  const { request } = message;
  (request.kind === "call" && request.as === "heartbeat" ? urgent : normal).push(message);
}

async function work(): Promise<void> {
  if (isWorking) return;
  isWorking = true;
  for (let next = take(); next !== undefined; next = take()) await answer(next);
  isWorking = false;
}

/** The next request, among all that have arrived: the event loop would hand over the newer ones only later. */
function take(): ThreadMessage | undefined {
  if (port !== null) {
    for (let more = receiveMessageOnPort(port); more !== undefined; more = receiveMessageOnPort(port)) {
      enqueue(more.message);
    }
  }
  return urgent.shift() ?? normal.shift();
}

async function answer({ id, now: time, request }: ThreadMessage): Promise<void> {
  now = time;
  let reply: ThreadReply;
  try {
    reply = { id, value: await run(request, (progress) => post({ id, progress })) };
  } catch (error) {
    reply = { id, fault: faultFrom(error) };
  }
  post(reply);
}

function post(reply: ThreadReply): void {
  port?.postMessage(reply);
}

async function run(request: ThreadRequest, report: ReportMigration): Promise<unknown> {
  if (request.kind === "close") return database?.close();
  // A database that cannot be opened now may be available at the next request.
  database ??= openSqlite(settings, () => now ?? Date.now());
  switch (request.kind) {
    case "open":
      await database.backend.open(report);
      return database.connection.database.prepare("pragma database_list").get()?.["file"];
    case "call":
      return runRequest(request.call, database.backend);
    case "group":
      return runGroup(database, unpackWrites(request));
    case "checkpoint":
      return database.connection.database.exec("pragma wal_checkpoint(full)");
    default:
      return request satisfies never;
  }
}
