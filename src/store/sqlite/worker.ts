import { parentPort, workerData } from "node:worker_threads";
import type { ReportMigration } from "../sql/migration-report.js";
import { callBackend } from "./backend-call.js";
import { openSqlite, type SqliteDatabase, type SqliteSettings } from "./database.js";
import { runGroup } from "./group.js";
import { faultFrom, type ThreadMessage, type ThreadReply, type ThreadRequest } from "./messages.js";
import { unpackWrites } from "./packed.js";

// The thread of a database: opens it at the first request, and answers one request after another.

const port = parentPort;
const settings: SqliteSettings = workerData;
let database: SqliteDatabase | undefined;
let now: number | undefined;
let turn: Promise<void> = Promise.resolve();

port?.on("message", (message: ThreadMessage) => {
  // A request may take several rounds of the event loop, and a read must not fall into the middle of a write.
  turn = turn.then(() => answer(message));
});

async function answer({ id, now: time, request }: ThreadMessage): Promise<void> {
  now = time;
  let reply: ThreadReply;
  try {
    reply = { id, value: await run(request, (progress) => tell({ id, progress })) };
  } catch (error) {
    reply = { id, fault: faultFrom(error) };
  }
  tell(reply);
}

function tell(reply: ThreadReply): void {
  port?.postMessage(reply);
}

async function run(request: ThreadRequest, report: ReportMigration): Promise<unknown> {
  if (request.kind === "close") return database?.close();
  // What cannot be opened now may be there for the next request.
  database ??= openSqlite(settings, () => now ?? Date.now());
  switch (request.kind) {
    case "open":
      return database.backend.open(report);
    case "call":
      return callBackend(request.call, database.backend);
    case "group":
      return runGroup(database, unpackWrites(request));
    default:
      return request satisfies never;
  }
}
