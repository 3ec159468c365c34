import { fork } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { postJson, type RawReply } from "../../support/http-agent.js";
import { owned } from "../../support/owned.js";

// One caller whose agents answer more than the heap of their process can hold.

const program = fileURLToPath(new URL("growing-child.mjs", import.meta.url));
const heapMegabytes = 256;
/** All of them take 320 MiB. */
const sends = 40;
const answer = `8 x ${1 << 20}`;

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).toReversed()) cleanup();
});

/** Starts the program with a small heap. */
async function start(options: {
  readonly store: "memory" | "SQLite";
  readonly named?: boolean;
  readonly limits?: object;
}) {
  if (!existsSync(fileURLToPath(new URL("../../../dist/src/index.js", import.meta.url)))) {
    throw new Error("dist is missing: run npm run build");
  }
  const folder = mkdtempSync(join(tmpdir(), "growing-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const { store, ...others } = options;
  const path = store === "SQLite" ? { path: join(folder, "tasks.db") } : {};
  const process = owned(
    fork(program, [JSON.stringify({ ...others, ...path })], {
      execArgv: [`--max-old-space-size=${heapMegabytes}`],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    }),
  );
  cleanups.push(() => process.kill("SIGKILL"));
  let stderr = "";
  process.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<never>((_, reject) => {
    process.once("exit", () => reject(new Error(`the program ended: ${stderr}`)));
  });
  ended.catch(() => undefined);
  // Records of the log come as messages too.
  const listening = new Promise<string>((resolve) => {
    process.on("message", ({ url }: { readonly url?: string }) => {
      if (url !== undefined) resolve(url);
    });
  });
  const url = await Promise.race([ended, listening]);
  let messageCount = 0;
  const call = (owner: string, method: string, params: object): Promise<RawReply> => {
    const body = { jsonrpc: "2.0", id: 1, method, params };
    return Promise.race([ended, postJson(`${url}/json-rpc`, body, { "a2a-version": "1.0", "x-owner": owner })]);
  };
  const send = (owner: string, text: string): Promise<RawReply> =>
    call(owner, "SendMessage", {
      message: { messageId: `m${++messageCount}`, role: "ROLE_USER", parts: [{ text }] },
    });
  return { process, call, send };
}

/** How a send ended: the state of its task and, unless it is complete, the limit that its text names. */
function outcomeOf({ text }: RawReply): string {
  const { result, error } = JSON.parse(text);
  const said: string = error?.message ?? result.task.status.message?.parts[0].text ?? "";
  const [, limit = said] = /\((\w+)\)/.exec(said) ?? [];
  return `${error === undefined ? result.task.status.state : "refused"} ${limit}`.trim();
}

const clearEnds = [
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED runningMaxBytes",
  "TASK_STATE_FAILED maxBytes",
  "refused inFlightMaxBytes",
];

describe.each(["memory", "SQLite"] as const)(
  "a server on the store %s whose agents answer more than its heap",
  (store) => {
    it.each(["text", "unicode", "data"])(
      "a server whose agents answer more than its heap lives, and limits the greedy caller alone (%s)",
      { timeout: 180_000 },
      async (kind) => {
        const { process, send } = await start({ store });
        const greedy = Promise.all(Array.from({ length: sends }, () => send("greedy", `${answer} ${kind}`)));
        const others: string[] = [];
        const askOn = async (owner: string): Promise<void> => {
          for (let done = false; !done; ) {
            others.push(outcomeOf(await send(owner, `1 x 256 ${kind}`)));
            done = await Promise.race([
              greedy.then(() => true),
              new Promise<false>((resolve) => setImmediate(resolve, false)),
            ]);
          }
        };
        await Promise.all(["alice", "bob", "carol"].map(askOn));
        const outcomes = (await greedy).map(outcomeOf);
        expect(clearEnds).toEqual(expect.arrayContaining([...new Set(outcomes)]));
        // The store in memory holds a part of them at most.
        if (store === "SQLite") expect(outcomes).toContain("TASK_STATE_COMPLETED");
        expect([...new Set(others)]).toEqual(["TASK_STATE_COMPLETED"]);
        expect(process.exitCode).toBeNull();
        expect(outcomeOf(await send("greedy", `1 x 256 ${kind}`))).toBe("TASK_STATE_COMPLETED");
      },
    );

    it("a server whose agents answer more than its heap lives where callers are not distinguished", {
      timeout: 180_000,
    }, async () => {
      const { process, send } = await start({ store, named: false });
      const outcomes = (await Promise.all(Array.from({ length: sends }, () => send("", `${answer} text`)))).map(
        outcomeOf,
      );
      expect(clearEnds).toEqual(expect.arrayContaining([...new Set(outcomes)]));
      expect(outcomeOf(await send("", "1 x 256 text"))).toBe("TASK_STATE_COMPLETED");
      expect(process.exitCode).toBeNull();
    });
  },
);

describe.each([true, false])("a server whose callers read more than its heap (they have names: %s)", (named) => {
  it.each(["GetTask", "ListTasks"])(
    "a server whose callers read more than its heap lives, and answers each %s or refuses it with the limit",
    {
      timeout: 180_000,
    },
    async (method) => {
      const { process, call, send } = await start({ store: "SQLite", named });
      const ids: string[] = [];
      for (let count = 0; count < 3; count++) {
        ids.push(JSON.parse((await send("greedy", `${answer} text`)).text).result.task.id);
      }
      const params = method === "GetTask" ? { id: ids[0] } : { includeArtifacts: true, pageSize: 3 };
      const reads = Promise.all(Array.from({ length: 60 }, () => call("greedy", method, params)));
      const others = await Promise.all(Array.from({ length: 5 }, () => send("alice", "1 x 256 text")));
      const answers = (await reads).map(({ text }) => JSON.parse(text));
      const limits = answers.filter(({ error }) => error).map(({ error }) => error.data[0].metadata.limit);
      expect(["inFlightMaxBytes"]).toEqual(expect.arrayContaining([...new Set(limits)]));
      expect(limits.length).toBeLessThan(60);
      if (named) expect([...new Set(others.map(outcomeOf))]).toEqual(["TASK_STATE_COMPLETED"]);
      expect(outcomeOf(await send("greedy", "1 x 256 text"))).toBe("TASK_STATE_COMPLETED");
      expect(process.exitCode).toBeNull();
    },
  );
});
