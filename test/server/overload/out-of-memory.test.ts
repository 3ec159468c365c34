import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { postJson, type RawReply } from "../../support/http-agent.js";
import { owned } from "../../support/owned.js";

const program = fileURLToPath(new URL("child.mjs", import.meta.url));
/** A heap that some hundred turns of the program fill. */
const heapMegabytes = 96;

let child: ChildProcess | undefined;

afterEach(() => {
  child?.kill("SIGKILL");
  child = undefined;
});

interface Log {
  readonly message?: string;
  readonly fields?: { readonly limit?: string; readonly refused?: number };
}

const isEnd = ({ message }: Log): boolean => message === "the server takes all sends again";

/** Starts the program with a small heap. */
async function start(limits: object) {
  if (!existsSync(fileURLToPath(new URL("../../../dist/src/index.js", import.meta.url)))) {
    throw new Error("dist is missing: run npm run build");
  }
  const process = owned(
    fork(program, [JSON.stringify(limits)], {
      execArgv: [`--max-old-space-size=${heapMegabytes}`],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    }),
  );
  child = process;
  const log: Log[] = [];
  let stderr = "";
  process.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const url = new Promise<string>((resolve, reject) => {
    process.on("message", (entry: Log & { readonly url?: string }) => {
      if (entry.url === undefined) log.push(entry);
      else resolve(entry.url);
    });
    process.once("exit", () => reject(new Error(`the program ended: ${stderr}`)));
  });
  const base = await url;
  let messageCount = 0;
  const call = (owner: string, method: string, params: object): Promise<RawReply> => {
    const body = { jsonrpc: "2.0", id: 1, method, params };
    return postJson(`${base}/json-rpc`, body, { "a2a-version": "1.0", "x-owner": owner });
  };
  const send = (owner: string, text: string): Promise<RawReply> =>
    call(owner, "SendMessage", {
      message: { messageId: `m${++messageCount}`, role: "ROLE_USER", parts: [{ text }] },
      configuration: { returnImmediately: true },
    });
  /** Sends many messages and returns what they were answered: a status, or "gone" when the process had ended. */
  const flood = async (calls: number): Promise<ReadonlySet<number | "gone">> => {
    const answers = new Set<number | "gone">();
    let left = calls;
    const one = async (): Promise<void> => {
      while (left-- > 0) {
        const answer = await send("greedy", "keep").catch(() => undefined);
        answers.add(answer?.status ?? "gone");
      }
    };
    await Promise.all(Array.from({ length: 8 }, one));
    return answers;
  };
  return { process, log, stderr: () => stderr, call, send, flood };
}

it("without the limit a server whose turns fill the heap dies", { timeout: 60_000 }, async () => {
  const { process, flood, stderr } = await start({ heapMaxRatio: false, eventLoopMaxMs: false });
  const ended = once(process, "exit");
  expect(await flood(700)).toContain("gone");
  await ended;
  expect(stderr()).toContain("heap out of memory");
});

it("a server whose turns fill the heap refuses sends, still reads and streams, and recovers", {
  timeout: 60_000,
}, async () => {
  const { process, log, call, send, flood } = await start({ eventLoopMaxMs: false });
  const ticking: { readonly id: string } = JSON.parse((await send("quiet", "tick")).text).result.task;
  const ticks = async (): Promise<number> => {
    const { status, text } = await call("quiet", "GetTask", { id: ticking.id });
    expect(status).toBe(200);
    return text.length;
  };
  expect([...(await flood(700))].toSorted()).toEqual([200, 503]);
  const refused = await send("greedy", "keep");
  expect(JSON.parse(refused.text).error).toMatchObject({ data: [{ metadata: { limit: "heapMaxRatio" } }, {}] });

  const before = await ticks();
  while ((await ticks()) <= before);
  process.send("release");
  while ((await send("greedy", "keep")).status !== 200 || !log.some(isEnd));
  expect(JSON.parse((await call("quiet", "GetTask", { id: ticking.id })).text).result.status.state).toBe(
    "TASK_STATE_COMPLETED",
  );
  expect(process.exitCode).toBeNull();
  expect(log.filter(({ fields }) => fields?.limit !== undefined)).toMatchObject([
    { message: "the server is overloaded and refuses sends", fields: { limit: "heapMaxRatio" } },
  ]);
  expect(log.find(isEnd)?.fields?.refused).toBeGreaterThan(100);
});
