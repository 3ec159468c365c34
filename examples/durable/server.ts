// Writes a report word by word and keeps its tasks in SQLite. Kill it with `kill -9` in the middle and start it again:
// callers get the rest of the report, no word twice.
import { setTimeout as sleep } from "node:timers/promises";
import { artifact, serve, textOf, working } from "trivium";
import { sqliteStore } from "trivium/sqlite";

const { STORE = "tasks.db", WORD_MS = "150", LEASE_MS = "15000" } = process.env;
const report = [
  "High water at Emden is at 04:31 and 16:58, low water at 10:44 and 23:07.",
  "The wind turns west in the afternoon and freshens to force 6.",
  "Small craft should be in port by 15:00.",
].join("\n");

const server = await serve({
  card: { name: "Harbour report", description: "Writes the report of the day", version: "1.0.0" },
  store: sqliteStore({ path: STORE }),
  // If a process dies, the next one on the same store runs its turns again once its lease has expired.
  restartable: true,
  limits: { instanceTtlMs: Number(LEASE_MS) },
  handleSignals: true,
  async *agent({ task, signal }) {
    yield working();
    // `task` has every word that was stored, which includes every word that a caller has seen.
    let written = textOf(task?.artifacts[0]);
    while (written !== report) {
      await sleep(Number(WORD_MS), undefined, { signal });
      const [word = ""] = /\s*\S+/.exec(report.slice(written.length)) ?? [];
      yield artifact(word, { artifactId: "report", append: written !== "" });
      written += word;
    }
  },
});
console.log(`Process ${process.pid} serves the harbour report at ${server.url}`);
