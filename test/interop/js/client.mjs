import { parseArgs } from "node:util";
import { cases as credentials } from "./credentials.mjs";
import { cases as errors } from "./errors.mjs";
import { cases as messages } from "./messages.mjs";
import { createPeer } from "./peer.mjs";
import { cases as push } from "./push.mjs";
import { cases as tasks } from "./tasks.mjs";

// The official JavaScript SDK as a client: runs every case against an agent and prints one line of JSON for each.

const caseTimeoutMs = 10_000;

const names = ["url", "plain", "binding", "guarded", "token", "expired", "key"];
const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: "string" }])) });

const peer = createPeer(values);
for (const [name, run] of Object.entries({ ...messages, ...tasks, ...push, ...credentials, ...errors })) {
  process.stdout.write(`${JSON.stringify(await outcome(name, run))}\n`);
}
// Channels that the SDK gives no way to close would keep the process.
process.exit(0);

async function outcome(name, run) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${caseTimeoutMs} ms`)), caseTimeoutMs);
  });
  try {
    await Promise.race([run(peer), late]);
    return { case: name, ok: true, detail: "" };
  } catch (error) {
    return { case: name, ok: false, detail: describe(error) };
  } finally {
    clearTimeout(timer);
  }
}

function describe(error) {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return `${error.stack ?? error.message}${cause === undefined ? "" : `\ncaused by ${describe(cause)}`}`;
}
