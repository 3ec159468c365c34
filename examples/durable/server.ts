// A survey that outlives its process: send it something, end it with kill -9 while it sounds, and start it again. Within
// 15 seconds, when the dead process is known to be dead, the survey is taken over and ends. What was shown is there.

import { setTimeout as sleep } from "node:timers/promises";
import { artifact, serve, working } from "trivium";
import { sqliteStore } from "trivium/sqlite";

const { STORE = ".trivium/soundings.db", SOUNDING_MS = "1000" } = process.env;

const server = await serve({
  card: { name: "Soundings", description: "Sounds the depth along a fairway", version: "1.0.0" },
  store: sqliteStore({ path: STORE }),
  handleSignals: true,
  // Nothing that it does is done twice to the world when it runs again.
  restartable: true,
  async *agent({ text, attempt, signal }) {
    yield working(`Surveying ${text}, attempt ${attempt}`);
    for (let buoy = 1; buoy <= 5; buoy++) {
      await sleep(Number(SOUNDING_MS), undefined, { signal });
      // An attempt that runs again replaces what the one before has left.
      yield artifact(`Buoy ${buoy}: ${12 - buoy} m. `, {
        artifactId: "soundings",
        append: buoy > 1,
        lastChunk: buoy === 5,
      });
    }
  },
});
console.log(`Soundings listens at ${server.url}`);
