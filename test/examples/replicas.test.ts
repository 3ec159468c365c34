import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type RunningExample, runExample, startExample } from "../support/example.js";
import { fixedPort } from "../support/fixed-port.js";
import { execute, owned } from "../support/owned.js";
import { hasPostgres, sharedPostgres } from "../support/postgres.js";

const running: RunningExample[] = [];
let one: RunningExample;
let other: RunningExample;

async function start(database: string): Promise<RunningExample> {
  const replica = await startExample("replicas", { DATABASE_URL: database, LEASE_MS: "2000" });
  running.push(replica);
  return replica;
}

/** Starts the balancer, and returns its URL. */
async function balance(...replicas: readonly RunningExample[]): Promise<string> {
  const port = await fixedPort();
  const ports = replicas.map(({ url }) => new URL(url).port);
  const child = owned(spawn(process.execPath, ["examples/replicas/balancer.ts", String(port), ...ports]));
  running.push({ url: "", printed: "", stop: async (signal) => Number(child.kill(signal)) });
  await once(child.stdout, "data");
  return `http://127.0.0.1:${port}`;
}

const processOf = ({ printed }: RunningExample): string => /Process (\d+)/.exec(printed)?.[1] ?? "";

afterEach(async () => {
  for (const each of running.splice(0)) await each.stop("SIGKILL");
});

describe.skipIf(!hasPostgres)("replicas", () => {
  beforeEach(async () => {
    const database = await (await sharedPostgres()).createDatabase();
    one = await start(database);
    other = await start(database);
  });

  it("replicas continue a stream of one that is killed, behind one address", async () => {
    const url = await balance(one, other);
    const child = owned(spawn(process.execPath, ["examples/replicas/client.ts", url, "30"]));
    let output = "";
    for await (const piece of child.stdout.setEncoding("utf8")) {
      const before = output;
      output += piece;
      if (before.includes(" 9 ") || !output.includes(" 9 ")) continue;
      const began = output.includes(processOf(one)) ? one : other;
      await began.stop("SIGKILL");
    }
    const [, first, counted, second, rest, state] =
      /^\nprocess (\d+)\n((?:\d+ )+)\nprocess (\d+)\n((?:\d+ )+)\n(\w+)\n$/.exec(output) ?? [];
    expect([first, second].toSorted()).toEqual([processOf(one), processOf(other)].toSorted());
    expect(`${counted}${rest}`.trim().split(" ").map(Number)).toEqual(Array.from({ length: 30 }, (_, at) => at + 1));
    expect(state).toBe("completed");
  });

  it("replicas list and cancel each other's tasks", async () => {
    const { stdout } = await execute(process.execPath, ["examples/replicas/across.ts", one.url, other.url]);
    expect(stdout).toBe("listed there: true\nhere: canceled\n");
  });

  it("replicas answer a client of one of them", async () => {
    expect(await runExample("replicas", [one.url, "3"])).toBe(`\nprocess ${processOf(one)}\n1 2 3 \ncompleted\n`);
  });
});
