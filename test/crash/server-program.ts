import { appendFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type * as Trivium from "../../src/index.js";

// The server that is killed, in its own process, from the built package. Its agent obeys the message and records each
// run in a file with synchronous writes that a kill cannot undo.

const elsewhere = process.env["TRIVIUM_DIST"];
const dist = elsewhere === undefined ? new URL("../../dist/", import.meta.url) : pathToFileURL(`${elsewhere}/`);
const load = (path: string) => import(new URL(`src/${path}`, dist).href);

const { artifact, completed, inputRequired, park, reply, serve, working }: typeof Trivium = await load("index.js");

/** The driver's settings, from the environment. */
const setting = JSON.parse(process.env["CRASH_SERVER"] ?? "{}") as {
  readonly store: string;
  readonly port: number;
  readonly runs: string;
  readonly restartable: boolean;
  readonly handleSignals?: boolean;
  readonly instanceTtlMs?: number;
  readonly lameDuckMs?: number;
};

async function openStore(place: string): Promise<NonNullable<Trivium.ServeOptions["store"]> | undefined> {
  if (place === "memory") return undefined;
  if (place.startsWith("postgres")) return (await load("store/postgres/index.js")).postgresStore({ url: place });
  return (await load("store/sqlite/index.js")).sqliteStore({ path: place });
}

async function* agent(turn: Trivium.Turn): AsyncGenerator<Trivium.AgentEvent> {
  const { text, taskId, attempt, cause, signal } = turn;
  // A turn that runs again or continues after a question has another message by then.
  const { messageId } = turn.message;
  const [verb = "", count = "0", everyMs = "0"] = text.split(" ");
  const note = (kind: "begun" | "stored"): void => {
    const run = { kind, life: process.pid, verb, messageId, taskId, attempt, cause };
    appendFileSync(setting.runs, `${JSON.stringify(run)}\n`);
  };
  note("begun");
  await delay(Number(everyMs));
  if (verb === "reply") {
    yield reply(`reply to ${messageId}`);
    return;
  }
  yield working();
  note("stored");
  if (verb === "hold") return aborted(signal);
  if (verb === "park" && cause === "message") {
    yield park({ wakeAt: Date.now() + Number(everyMs) * 100 });
    return;
  }
  if (verb === "ask") {
    yield inputRequired("how much?");
    return;
  }
  const amount = verb === "converse" ? (await turn.ask(inputRequired("how much?"))).parts.length * 5 : Number(count);
  for (let index = 0; index < amount; index++) {
    const options = { artifactId: `of ${messageId}`, append: index > 0, lastChunk: index === amount - 1 };
    yield artifact(`${attempt}:${index} ${".".repeat(index % 150)}\n`, options);
    if (index % 4 === 3) await delay(Number(everyMs));
  }
  yield completed();
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

process.once("disconnect", () => process.exit(0));
if (!process.connected) process.exit(0);
const store = await openStore(setting.store);
const server = await serve({
  card: { name: "Mortal", description: "Is killed again and again", version: "1" },
  port: setting.port,
  // Versions that are not served are not loaded, which shortens each start.
  versions: ["1.0"],
  limits: {
    heartbeatMs: 250,
    instanceTtlMs: setting.instanceTtlMs ?? 1000,
    pollMs: 250,
    pushRetryMs: 50,
    taskAfterMs: 100,
  },
  push: { allow: "loopback" },
  store,
  restartable: setting.restartable,
  handleSignals: setting.handleSignals === true,
  lameDuckMs: setting.lameDuckMs,
  agent,
});
process.send?.({ url: server.url });
// A killed process would not flush its compile cache at exit.
flushCompileCache();
