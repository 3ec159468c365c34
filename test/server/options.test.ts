import {
  type Agent,
  type AgentOptions,
  artifact,
  Client,
  createAgent,
  file,
  gateway,
  memoryPushStore,
  memoryTaskStore,
  park,
  reply,
  serve,
  working,
} from "trivium";
import { postgresStore } from "trivium/postgres";
import { sqliteStore } from "trivium/sqlite";
import { connectTo, createTestClock, pushStoreContract, taskStoreContract, waitFor } from "trivium/testing";
import { expect, it } from "vitest";

// Options as programs without TypeScript give them. What is misspelled would otherwise be ignored without a word.

const card = { name: "Strict", description: "Takes no wrong option", version: "1" };
const agent: Agent = async () => undefined;
const base = { card, agent };

type Entry = (options: never) => unknown;

const entries: Readonly<Record<string, Entry>> = {
  "serve()": (options) => serve(options),
  "createAgent()": (options) => createAgent(options),
  "gateway()": (options) => gateway(options),
  "Client.connect()": (options) => Client.connect("http://127.0.0.1:9", options),
  "connectTo()": (options) => connectTo(agent, options),
  "memoryTaskStore()": (options) => memoryTaskStore(options),
  "sqliteStore()": (options) => sqliteStore(options),
  "postgresStore()": (options) => postgresStore(options),
  "memoryPushStore()": (options) => memoryPushStore(options),
  "artifact()": (options) => artifact("text", options),
  "park()": (options) => park(options),
  "reply()": (options) => reply("text", options),
  "the options of a part": (options) => file(new Uint8Array(1), options),
  "the options of a status": (options) => working("text", options),
  "createTestClock()": (options) => createTestClock(options),
  "taskStoreContract()": (options) => taskStoreContract(async () => ({ store: memoryTaskStore() }), options),
  "pushStoreContract()": (options) => pushStoreContract(async () => ({ store: memoryPushStore() }), options),
  "waitFor()": async (options) => waitFor(await connectTo(agent), "t", "completed", options),
};

/** The message of the `TypeError` with which an entry refuses its options. */
async function refusal(entry: string, options: unknown): Promise<string> {
  const failed = (error: unknown): unknown => error;
  const call = async (): Promise<unknown> => (entries[entry] as (options: unknown) => unknown)(options);
  const error = await call().then(() => {}, failed);
  expect(error).toBeInstanceOf(TypeError);
  return (error as TypeError).message;
}

it.each<[string, object, string]>([
  ["serve()", { ...base, prot: 80 }, "serve(): prot cannot be given: did you mean port?"],
  ["serve()", { ...base, publicURL: "x" }, "serve(): publicURL cannot be given: did you mean publicUrl?"],
  ["serve()", { ...base, port: "80" }, 'serve(): port must be a whole number from 0 to 65535, not "80"'],
  ["serve()", { ...base, port: 70_000 }, "serve(): port must be a whole number from 0 to 65535, not 70000"],
  ["serve()", { card }, "serve(): agent is missing: give a function of a turn"],
  ["serve()", { agent }, "serve(): card is missing: give at least its name, description and version"],
  ["serve()", { card, agent: {} }, "serve(): agent must be a function, not a value of type object"],
  [
    "serve()",
    { ...base, store: {} },
    "serve(): store must be a store, such as memoryTaskStore() or sqliteStore(), not",
  ],
  [
    "serve()",
    { ...base, logger: { info() {} } },
    "serve(): logger must be false or a logger such as pino's, not an object without",
  ],
  ["serve()", { ...base, accessLog: "all" }, "serve(): accessLog must be true or false, not a value of type string"],
  ["createAgent()", { ...base, accesslog: true }, "createAgent(): accesslog cannot be given: did you mean accessLog?"],
  ["createAgent()", { ...base, anonymous: true }, 'createAgent(): anonymous must be "shared", not'],
  ["gateway()", { upstream: "http://a.example", accessLog: 1 }, "gateway(): accessLog must be true or false, not"],
  ["sqliteStore()", { path: "a", logger: true }, "sqliteStore(): logger must be false or a logger such as pino's, not"],
  [
    "serve()",
    { ...base, limits: { turnPerOwner: 1 } },
    "serve(): limits.turnPerOwner cannot be given: did you mean turnsPerOwner?",
  ],
  [
    "serve()",
    { ...base, limits: { turnsPerOwner: "9" } },
    'serve(): limits.turnsPerOwner must be a number of 0 or more, not "9"',
  ],
  ["serve()", { ...base, push: {} }, "serve(): push.allow is missing: say which addresses webhooks may have"],
  [
    "serve()",
    { ...base, push: { allow: "public", evnts: "all" } },
    "serve(): push.evnts cannot be given: did you mean events?",
  ],
  [
    "serve()",
    { ...base, cors: { origins: "https://a.example" } },
    "serve(): cors.origins must be * or an array, not a value",
  ],
  ["serve()", { ...base, bindings: ["json-rpc"] }, '"CONNECT", not "json-rpc": did you mean "JSONRPC"?'],
  [
    "serve()",
    { ...base, versions: ["0.4"] },
    'serve(): versions[0] must be "1.0" or "0.3" or "0.2" or "0.1", not "0.4"',
  ],
  [
    "serve()",
    { ...base, versions: { strict: 1 } },
    "serve(): versions.strict must be true or false, not a value of type number",
  ],
  ["serve()", { ...base, anonymous: true }, 'serve(): anonymous must be "shared", not a value of type boolean'],
  ["serve()", { ...base, tenants: "a" }, "serve(): tenants must be an array, not a value of type string"],
  ["serve()", { ...base, handleSignals: "yes" }, "serve(): handleSignals must be true or false"],
  ["createAgent()", { ...base, port: 80 }, "createAgent(): port cannot be given: it is an option of serve()"],
  ["createAgent()", { ...base, baseUrl: "/a" }, "createAgent(): baseUrl cannot be given: "],
  ["gateway()", { port: 0 }, "gateway(): upstream is missing: give the URL of the agent or of its card, or the card"],
  [
    "gateway()",
    { upstream: "http://a.example", foward: ["a"] },
    "gateway(): foward cannot be given: did you mean forward?",
  ],
  [
    "gateway()",
    { upstream: "http://a.example", client: { sendOnce: true, clock: {} } },
    "gateway(): client.clock cannot be given: the gateway sets",
  ],
  ["Client.connect()", { timeout: 5 }, "Client.connect(): timeout cannot be given: "],
  ["Client.connect()", { timeoutMS: 5 }, "Client.connect(): timeoutMS cannot be given: did you mean timeoutMs?"],
  ["Client.connect()", { prefer: "GRPC" }, "Client.connect(): prefer must be an array, not a value of type string"],
  [
    "Client.connect()",
    { headers: { a: 1 } },
    'Client.connect(): headers["a"] must be a string, not a value of type number',
  ],
  ["Client.connect()", { retry: { attempts: 2 } }, "Client.connect(): retry.attempts cannot be given: "],
  [
    "Client.connect()",
    { retry: true },
    "Client.connect(): retry must be false or an object, not a value of type boolean",
  ],
  ["Client.connect()", { tls: { certificate: "x" } }, "Client.connect(): tls.certificate cannot be given: "],
  [
    "Client.connect()",
    { limits: { replyMaxByte: 1 } },
    "Client.connect(): limits.replyMaxByte cannot be given: did you mean replyMaxBytes?",
  ],
  ["connectTo()", { restartible: true }, "connectTo(): restartible cannot be given: did you mean restartable?"],
  ["connectTo()", { client: { header: {} } }, "connectTo(): client.header cannot be given: did you mean headers?"],
  ["memoryTaskStore()", { maxByte: 1 }, "memoryTaskStore(): maxByte cannot be given: did you mean maxBytes?"],
  ["sqliteStore()", {}, 'sqliteStore(): path is missing: give a file, or ":memory:"'],
  [
    "sqliteStore()",
    { path: "a", synchronous: "OFF" },
    'sqliteStore(): synchronous must be "FULL" or "NORMAL", not "OFF"',
  ],
  [
    "sqliteStore()",
    { path: "a", retention: { taskMs: 1 } },
    "sqliteStore(): retention.taskMs cannot be given: did you mean tasksMs?",
  ],
  ["sqliteStore()", { path: "" }, "sqliteStore(): path is empty: write something"],
  [
    "sqliteStore()",
    { path: "a", busyTimeoutMs: -1 },
    "sqliteStore(): busyTimeoutMs must be a whole number of 0 or more, not -1",
  ],
  ["sqliteStore()", { path: "a", maxBytes: 0 }, "sqliteStore(): maxBytes must be a whole number of 1 or more, not 0"],
  [
    "sqliteStore()",
    { path: "a", retention: { logsMs: -1 } },
    "sqliteStore(): retention.logsMs must be a number of 0 or more, not -1",
  ],
  [
    "sqliteStore()",
    { path: "a", retention: { logsMs: 2000, tasksMs: 1000 } },
    "sqliteStore(): retention.logsMs (2000) is above tasksMs (1000): the log of a task is dropped with its task. Set logsMs to at most 1000, or tasksMs to at least 2000",
  ],
  [
    "sqliteStore()",
    { path: "a", pruneEveryMs: 0 },
    "sqliteStore(): pruneEveryMs must be 1 or more milliseconds, or Infinity, not 0",
  ],
  ["postgresStore()", {}, "postgresStore(): url is missing: give postgres://user:password@host:port/database"],
  ["postgresStore()", { url: "postgres://a/b", pool: { size: 2 } }, "postgresStore(): pool.size cannot be given: "],
  ["serve()", { ...base, tls: {} }, "serve(): tls.cert is missing: give the certificate in PEM, and its key"],
  ["serve()", { ...base, tls: { cert: "x" } }, "serve(): tls.key is missing: give the private key of the certificate"],
  ["serve()", { ...base, tls: { certs: "x", key: "y" } }, "serve(): tls.certs cannot be given: did you mean cert?"],
  ["serve()", { ...base, tls: { cert: "x", key: "y" } }, "serve(): tls cannot be used: error:0480006C:PEM"],
  ["memoryPushStore()", { maxByte: 1 }, "memoryPushStore(): maxByte cannot be given: did you mean maxBytes?"],
  ["artifact()", { artifactID: "a" }, "artifact(): artifactID cannot be given: did you mean artifactId?"],
  ["park()", { wakeat: 1 }, "park(): wakeat cannot be given: did you mean wakeAt?"],
  ["reply()", { meta: {} }, "reply(): meta cannot be given: take it out, or use one of metadata, extensions"],
  [
    "the options of a part",
    { fileName: "a" },
    "the options of a part: fileName cannot be given: did you mean filename?",
  ],
  [
    "the options of a status",
    { metdata: {} },
    "the options of a status: metdata cannot be given: did you mean metadata?",
  ],
  ["createTestClock()", { strat: 1 }, "createTestClock(): strat cannot be given: did you mean start?"],
  ["createTestClock()", { start: "1" }, 'createTestClock(): start must be a number of 0 or more, not "1"'],
  ["taskStoreContract()", { seeds: 1 }, "taskStoreContract(): seeds cannot be given: did you mean seed?"],
  ["taskStoreContract()", { seed: 0.5 }, "taskStoreContract(): seed must be a whole number"],
  ["pushStoreContract()", { besideTask: true }, "pushStoreContract(): besideTask cannot be given: did you mean"],
  ["waitFor()", { timeoutMS: 1 }, "waitFor(): timeoutMS cannot be given: did you mean timeoutMs?"],
])("%s refuses %j", async (entry, options, message) => {
  expect(await refusal(entry, options)).toContain(message);
});

it.each(Object.keys(entries))("%s refuses options that are no object, and every problem at once", async (entry) => {
  expect(await refusal(entry, "x")).toBe(`${entry}: the options must be an object, not a value of type string`);
  const message = await refusal(entry, { ...base, upstream: "http://a.example", url: "", one: 1, two: 2 });
  expect(message).toContain("- one cannot be given: ");
  expect(message).toContain("- two cannot be given: ");
});

it("an option that is undefined is one that was left out", async () => {
  const options: AgentOptions = { ...base, store: undefined, logger: undefined, push: undefined };
  await using mounted = await createAgent(options);
  expect(mounted.card.name).toBe("Strict");
  const alone = await serve({ ...base, port: 0, logger: false, ...{ agents: undefined } });
  await alone.close();
});

it.each(["serve", "createAgent"] as const)("%s refuses a public URL that is none", async (entry) => {
  const attempt = { serve, createAgent }[entry]({ ...base, publicUrl: "agents.example" });
  await expect(attempt).rejects.toThrow('publicUrl must be an absolute URL (https, http), not "agents.example"');
});

it.each([undefined, null, 5])("Client.connect() says what an address is instead of %j", async (address) => {
  const connect: (agent: never) => Promise<Client> = Client.connect;
  await expect(connect(address as never)).rejects.toThrow(
    new TypeError(`the agent must be an http or https URL, not "${address}"`),
  );
});

it.each([undefined, "x", 5])("a mounted agent refuses options that are %j", async (options) => {
  await using mounted = await createAgent({ ...base, logger: false });
  const listener = mounted.nodeListener as (options: unknown) => unknown;
  if (options === undefined) expect(() => listener(options)).not.toThrow();
  else expect(() => listener(options)).toThrow("nodeListener(): the options must be an object, not a value of type");
});

it("the calls of a client refuse options that would change nothing", async () => {
  await using client = await connectTo(agent);
  const options = { timeout: 5 } as object;
  const text = "the options of a call: timeout cannot be given: did you mean timeoutMs?";
  await expect(client.wait("t", options)).rejects.toThrow(new TypeError(text));
  await expect(client.cancel("t", options)).rejects.toThrow(new TypeError(text));
  expect(() => client.watch("t", options)).toThrow(new TypeError(text));
});

it("a client of an agent that runs takes none of the agent's own options", async () => {
  await using mounted = await createAgent(base);
  await expect(connectTo(mounted, { restartable: true })).rejects.toThrow(
    "connectTo(): restartable cannot be given: an agent that runs already has its own",
  );
});
