// An agent that may call webhooks on this machine. The store has the tasks, the webhooks and what is still to be sent.
import { setTimeout as sleep } from "node:timers/promises";
import { artifact, serve, working } from "trivium";
import { sqliteStore } from "trivium/sqlite";

const server = await serve({
  card: { name: "Surveyor", description: "Sounds the depth of a fairway", version: "1.0.0" },
  store: sqliteStore({ path: process.env["STORE"] ?? ".trivium/surveys.db" }),
  push: { allow: "loopback" },
  async *agent({ text, signal }) {
    yield working(`sounding ${text}`);
    await sleep(200, undefined, { signal });
    yield artifact(`${text}: 11 m`, { name: "depth", lastChunk: true });
  },
});
console.log(`Surveyor listens at ${server.url}`);
