// Writes a report line by line, each below a span of its own, and keeps its tasks in SQLite. Kill it with `kill -9` in the middle
// and start it again: the rest of the report belongs to the same trace.
import "./tracing.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { trace } from "@opentelemetry/api";
import { artifact, serve, textOf, working } from "trivium";
import { sqliteStore } from "trivium/sqlite";

const { STORE = "tasks.db", LINE_MS = "1000", LEASE_MS = "15000" } = process.env;
const lines = ["High water at 04:31.", "Wind from the west.", "Small craft stay in port.", "Fog in the evening."];
const tracer = trace.getTracer("report");

const server = await serve({
  card: { name: "Reporter", description: "Writes the report of the day", version: "1.0.0" },
  store: sqliteStore({ path: STORE }),
  restartable: true,
  limits: { instanceTtlMs: Number(LEASE_MS) },
  handleSignals: true,
  async *agent({ task, signal }) {
    yield working();
    // The lines stored so far, by this process or the one before.
    const written = textOf(task?.artifacts[0]).split("\n").filter(Boolean).length;
    for (const line of lines.slice(written)) {
      // Runs in the span of the turn. A model call would have its span here.
      await tracer.startActiveSpan("write a line", async (span) => {
        await sleep(Number(LINE_MS), undefined, { signal }).finally(() => span.end());
      });
      yield artifact(`${line}\n`, { artifactId: "report", append: line !== lines[0] });
    }
  },
});
console.log(`Process ${process.pid} serves the report at ${server.url}`);
