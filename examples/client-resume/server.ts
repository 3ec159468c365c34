// Writes reports line by line and keeps them in SQLite. Kill it with `kill -9` and start it again: it continues.
import { setTimeout as sleep } from "node:timers/promises";
import { artifact, serve } from "trivium";
import { sqliteStore } from "trivium/sqlite";

const { STORE = ".trivium/reports.db", LINE_MS = "500", PUBLIC_URL } = process.env;

const server = await serve({
  card: { name: "Reporter", description: "Writes as many lines as you ask for", version: "1.0.0" },
  store: sqliteStore({ path: STORE }),
  // Writing a report has no side effects, so the turn may run again.
  restartable: true,
  bindings: ["GRPC", "JSONRPC"],
  // As behind a firewall that blocks gRPC: nothing answers at this address.
  publicGrpc: "127.0.0.1:1",
  publicUrl: PUBLIC_URL,
  async *agent({ text, signal }) {
    const lines = Number.parseInt(text, 10);
    for (let line = 1; line <= lines; line++) {
      await sleep(Number(LINE_MS), undefined, { signal });
      yield artifact(`Line ${line}.\n`, { artifactId: "report", append: line > 1, lastChunk: line === lines });
    }
  },
});
console.log(`Reporter listens at ${server.url}`);
