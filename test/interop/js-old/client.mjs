import { parseArgs } from "node:util";

// An older JavaScript SDK as a client: runs every case of its version against an agent and prints one line of JSON for each.

const caseTimeoutMs = 10_000;

// The SDKs that log do so on both; the lines of this program must stay apart from theirs.
console.log = console.info = console.warn = console.error = () => {};

const suites = { 0.3: "./kind/cases.mjs", 0.2: "./kind/cases.mjs", 0.1: "./oldest/cases.mjs" };

const names = ["sdk", "url", "plain", "binding", "guarded", "token", "expired", "key"];
const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: "string" }])) });
const { token, expired, key, ...options } = values;
const { cases, createPeer } = await import(suites[options.sdk]);
const peer = { ...(await createPeer(options)), secrets: { token, expired, key } };
for (const [name, run] of Object.entries(cases)) {
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
