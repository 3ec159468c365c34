import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { describe, expect, inject, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { type MortalServer, mortalServer } from "../crash/mortal-server.js";
import { deployFile, hasProxy, startProxy } from "../proxies/proxy.js";
import { fixedPort } from "../support/fixed-port.js";
import { requestOf } from "../support/say.js";
import { newDatabase } from "./database.js";

// Three replicas behind a real HAProxy with the configuration of deploy/ are restarted one after another, while callers
// of all bindings send, stream, watch and list. Clients retry nothing here: every call that fails is a fault.

const bindings = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;
type Binding = (typeof bindings)[number];

const isInstalled = inject("postgres") !== undefined && hasProxy("haproxy");

async function replicas(store: string, runs: string): Promise<readonly MortalServer[]> {
  const options = { store, runs, restartable: false, handleSignals: true, instanceTtlMs: 60_000, lameDuckMs: 2_000 };
  const servers = [await mortalServer(options), await mortalServer(options), await mortalServer(options)];
  await Promise.all(servers.map((server) => server.start()));
  return servers;
}

/** The configuration of deploy/ on other addresses, without TLS, with a socket for its figures. */
function configuration(port: number, stats: string, servers: readonly MortalServer[]): string {
  const configText = readFileSync(deployFile("haproxy.cfg"), "utf8")
    .replace("global\n", `global\n  stats socket ${stats} mode 600 level admin\n`)
    .replace(/bind .*/, `bind 127.0.0.1:${port}`)
    .replace("inter 1s", "inter 200ms");
  return servers.reduce(
    (config, server, index) => config.replaceAll(`10.0.0.1${index + 1}:8080`, `127.0.0.1:${server.port}`),
    configText,
  );
}

/** HAProxy's figures about one replica in one backend. */
type Figures = Readonly<Record<string, string>>;

async function figuresOf(socketPath: string): Promise<readonly Figures[]> {
  const socket = connect(socketPath);
  socket.end("show stat\n");
  const [head = "", ...lines] = (await textOf(socket)).trim().split("\n");
  const names = head.replace(/^# /, "").split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((value, index) => [names[index] ?? "", value])));
}

interface Load {
  readonly faults: string[];
  readonly counts: Record<string, number>;
  stop(): Promise<void>;
}

/** Calls over every binding until it is stopped. */
function startLoad(clients: readonly (readonly [Binding, Client])[]): Load {
  const faults: string[] = [];
  const counts: Record<string, number> = {};
  let isOver = false;
  const repeat = async (name: string, call: (round: number) => Promise<string | undefined>): Promise<void> => {
    counts[name] = 0;
    for (let round = 0; !isOver; round++) {
      const fault = await call(round).catch((error: unknown) => `failed: ${String(error)}`);
      if (fault === undefined) counts[name]++;
      else faults.push(`${name} ${fault}`);
    }
  };
  const workers = clients.flatMap(([binding, client]) => [
    repeat(`${binding} send`, async () => {
      const answer = await client.send("reply");
      return answer.text.startsWith("reply to ") ? undefined : `answered ${answer.text}`;
    }),
    repeat(`${binding} task`, async () => {
      const answer = await client.send("count 4 5");
      return complete(answer.state, answer.text, 4);
    }),
    repeat(`${binding} stream`, async () => {
      const stream = client.stream("count 60 20");
      let text = "";
      for await (const delta of stream.text) text += delta;
      return complete((await stream.answer).state, text, 60);
    }),
    repeat(`${binding} watch`, async () => {
      const { taskId = "" } = await client.send("count 60 20", { configuration: { returnImmediately: true } });
      const watched = await client.watch(taskId).answer;
      return complete(watched.state, watched.text, 60);
    }),
    repeat(`${binding} list`, async () => {
      const { tasks } = await client.operations.listTasks(requestOf("listTasks", { pageSize: 5 }), {});
      return tasks.length > 5 ? `listed ${tasks.length}` : undefined;
    }),
  ]);
  return {
    faults,
    counts,
    async stop() {
      isOver = true;
      await Promise.all(workers);
    },
  };
}

/** Says what is missing in the answer of a task that counts: each line has its attempt and number. */
function complete(state: string, text: string, wanted: number): string | undefined {
  const numbers = text
    .trim()
    .split("\n")
    .map((line) => /^1:(\d+) /.exec(line)?.[1]);
  const isWhole = numbers.length === wanted && numbers.every((number, index) => number === String(index));
  return state === "completed" && isWhole ? undefined : `ended ${state} with ${numbers.join(" ")}`;
}

async function until(load: Load, calls: number): Promise<void> {
  const before = { ...load.counts };
  const grown = (): boolean =>
    Object.entries(load.counts).every(([name, count]) => count - (before[name] ?? 0) >= calls);
  await expect.poll(grown, { timeout: 60_000 }).toBe(true);
}

describe.skipIf(!isInstalled)("three replicas behind HAProxy", () => {
  it("three replicas behind HAProxy fail no request and break no turn in a rolling restart", {
    timeout: 240_000,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "trivium-rolling-"));
    const servers = await replicas(await newDatabase(), join(folder, "runs"));
    const port = await fixedPort();
    const stats = join(folder, "haproxy.sock");
    const proxy = await startProxy("haproxy", { config: configuration(port, stats, servers), port });
    const connected = await Promise.all(
      bindings.map(async (binding) => {
        const options = { grpcTls: false, prefer: [binding], retry: false as const, timeoutMs: 60_000 };
        const client = await Client.connect(`http://127.0.0.1:${port}`, options);
        await client.send("reply");
        expect(client.connection?.binding).toBe(binding);
        return [binding, client] as const;
      }),
    );
    const load = startLoad(connected);
    const codes: unknown[] = [];
    try {
      for (const server of servers) {
        await until(load, 2);
        codes.push(await server.terminate());
        await server.start();
      }
      await until(load, 2);
      await load.stop();
      expect(load.faults, proxy.readOutput()).toEqual([]);
      expect(codes).toEqual([0, 0, 0]);
      const figures = await figuresOf(stats);
      const replicas = figures.filter(({ svname = "" }) => ["one", "two", "three"].includes(svname));
      expect(replicas).toHaveLength(6);
      for (const { pxname, svname, hrsp_5xx, econ, wredis, stot, chkdown } of replicas) {
        expect({ pxname, svname, hrsp_5xx, econ, wredis }).toMatchObject({ hrsp_5xx: "0", econ: "0", wredis: "0" });
        // Each has served callers, and was taken out.
        expect([Number(stot) > 0, Number(chkdown) > 0], `${pxname} ${svname}`).toEqual([true, true]);
      }
    } finally {
      await load.stop();
      await Promise.all(connected.map(([, client]) => client.close()));
      await proxy[Symbol.asyncDispose]();
      await Promise.all(servers.map((server) => server.kill()));
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
