// Hosts an executor of @a2a-js/sdk. Its tasks now survive a crash of the server.
import { serve } from "trivium";
import { fromExecutor } from "trivium/a2a-js";
import { sqliteStore } from "trivium/sqlite";
import { TideExecutor } from "./executor.ts";

const server = await serve({
  card: { name: "Tides", description: "Knows when there is high water", version: "1.0.0" },
  agent: fromExecutor(new TideExecutor()),
  store: sqliteStore({ path: process.env["TASKS_DB"] ?? "tasks.db" }),
});
console.log(`Tides listens at ${server.url}`);
