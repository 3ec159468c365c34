// One replica of an agent that counts. Start as many as you like with the same DATABASE_URL.
import { setTimeout as sleep } from "node:timers/promises";
import { artifact, serve, textOf, working } from "trivium";
import { postgresStore } from "trivium/postgres";

const { DATABASE_URL = "postgres://postgres@127.0.0.1:5432/postgres", LEASE_MS = "15000" } = process.env;

const server = await serve({
  card: { name: "Counter", description: "Counts to a number", version: "1.0.0" },
  store: postgresStore({ url: DATABASE_URL }),
  // If a replica dies, another one runs its turns again once its lease has expired.
  restartable: true,
  handleSignals: true,
  limits: { instanceTtlMs: Number(LEASE_MS) },
  async *agent({ text, task, signal }) {
    yield working(`process ${process.pid}`);
    // The numbers stored so far, by this replica or another one.
    const counted = textOf(task?.artifacts[0]).split(" ").length - 1;
    for (let number = counted + 1; number <= Number(text); number++) {
      await sleep(100, undefined, { signal });
      yield artifact(`${number} `, { artifactId: "count", append: number > 1 });
    }
  },
});
console.log(`Process ${process.pid} counts at ${server.url}`);
