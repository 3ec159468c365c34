import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Hint } from "../../src/core/ports.js";
import { systemClock } from "../../src/protocol/async/system-clock.js";
import { createPoolerMode } from "../../src/store/postgres/connection.js";
import { type PostgresSignals, postgresSignals } from "../../src/store/postgres/signals.js";
import { signalsContract } from "../../src/testing/contract/signals.js";
import { hasPostgres, type PostgresServer, startPostgres, startTimeoutMs } from "../support/postgres.js";

let server: PostgresServer;
const open: PostgresSignals[] = [];

function signals(url = server.url): PostgresSignals {
  const instance = postgresSignals({
    url,
    clock: systemClock,
    mode: createPoolerMode(),
    sessions: undefined,
    prepare: undefined,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 10_000,
  });
  open.push(instance);
  return instance;
}

/** The hints that an end receives, each once. */
function heardBy({ subscribe }: PostgresSignals): Set<string> {
  const hints = new Set<string>();
  subscribe(({ kind, taskId }) => hints.add(`${kind} ${taskId}`));
  return hints;
}

/** Publishes until it is received: a new end may miss the first hints. */
async function connect(here: PostgresSignals, hints: ReadonlySet<string>): Promise<void> {
  await expect
    .poll(() => {
      here.publish({ kind: "moved", taskId: "connect" });
      return hints.has("moved connect");
    })
    .toBe(true);
}

describe.skipIf(!hasPostgres)("signals on PostgreSQL", () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, startTimeoutMs);
  afterAll(async () => {
    await Promise.all(open.map((instance) => instance.close()));
    await server[Symbol.asyncDispose]();
  });

  const make = async () => ({ here: signals(), there: signals() });
  for (const { name, run } of signalsContract(make)) it(name, run);

  it("signals on PostgreSQL reach listeners in the same process at once, without the database", async () => {
    const nowhere = signals("postgres://postgres@127.0.0.1:1/none");
    const hints: Hint[] = [];
    nowhere.subscribe((hint) => hints.push(hint));
    const hint = { kind: "inbox", taskId: "t" } as const;
    nowhere.publish(hint);
    expect(hints).toEqual([hint]);

    const here = signals();
    const there = heardBy(signals());
    const own: string[] = [];
    // Hints of the cases before may still arrive.
    here.subscribe(({ taskId }) => taskId === "once" && own.push(taskId));
    await connect(here, there);
    here.publish({ kind: "moved", taskId: "once" });
    await expect.poll(() => there.has("moved once")).toBe(true);
    expect(own).toEqual(["once"]);
  });

  it("signals on PostgreSQL combine hints published together into few notifications, with any ids", async () => {
    const here = signals();
    const there = heardBy(signals());
    await connect(here, there);
    const payloads: string[] = [];
    const { default: pg } = await import("pg");
    const witness = new pg.Client({ connectionString: server.url });
    await witness.connect();
    witness.on("notification", ({ payload = "" }) => payloads.push(payload));
    await witness.query("listen trivium");
    const ids = Array.from({ length: 300 }, (_, index) => `\u00e9"\\\n\u0000,${index}${"x".repeat(40)}`);
    for (const taskId of [...ids, ...ids]) here.publish({ kind: "moved", taskId });
    await expect.poll(() => ids.every((id) => there.has(`moved ${id}`))).toBe(true);
    await expect.poll(() => payloads.join("").includes(",299x")).toBe(true);
    const texts = payloads.filter((text) => !text.includes("connect"));
    expect(texts.length).toBeLessThanOrEqual(4);
    expect(Math.max(...texts.map((text) => Buffer.byteLength(text)))).toBeLessThan(8_000);
    await witness.end();
  });

  it("signals on PostgreSQL do not keep the process alive", async () => {
    const sockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
    const before = sockets();
    const here = signals();
    const there = heardBy(signals());
    await connect(here, there);
    await expect.poll(sockets).toBeLessThanOrEqual(before);
  });

  it("signals on PostgreSQL ignore foreign notifications on the channel", async () => {
    const here = signals();
    const there = heardBy(signals());
    await connect(here, there);
    for (const text of ["", "{", '"x"', "1,null", '"mgood",7,"zbad"']) {
      await server.query("select pg_notify('trivium', $1)", [text]);
    }
    await expect.poll(() => there.has("moved good")).toBe(true);
    expect([...there].toSorted()).toEqual(["moved connect", "moved good"]);
  });

  it("signals on PostgreSQL are heard again after lost connections, and after the server was away", async () => {
    const here = signals();
    const there = heardBy(signals());
    await connect(here, there);
    there.clear();
    await server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and query ~ 'listen|pg_notify'",
    );
    await connect(here, there);
    there.clear();
    await server.stop();
    here.publish({ kind: "moved", taskId: "lost" });
    await server.start();
    await connect(here, there);
    expect(there.has("moved lost")).toBe(false);
  });
});
