import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { expect, it, vi } from "vitest";
import { exitCodes } from "../../src/cli/exit-codes.js";
import { endSignals } from "../../src/server/end-signals.js";
import { root, startTrivium, triviumAlone } from "../support/command.js";
import { type Project, project } from "../support/served-project.js";

// The exit codes of the commands that serve are those of the table in the documents, and that table has all of them.

type Codes = readonly (number | null)[];

const page = readFileSync(`${root}docs/reference/command-line.md`, "utf8");

/** The rows of the table with this head: one cell, and the exit codes in the other. */
function tableOf(head: string): readonly (readonly [cells: string, codes: Codes])[] {
  const lines = page.split(`${head}\n`)[1]?.split("\n") ?? [];
  const rows = lines.slice(1, lines.indexOf("")).map((line) => line.split("|").map((cell) => cell.trim()));
  return rows.map(([, first = "", second = ""]) =>
    /^[\d, ]+$/.test(first) ? [second, first.split(", ").map(Number)] : [first, second.split(", ").map(Number)],
  );
}

const endings = tableOf("| ending of `serve`, `demo` and `gateway` | exit code |");

const options = (more = ""): string =>
  `{ card: { name: "Echo", description: "d", version: "1" }, agent: async () => {}, ${more} }`;
const holding = `
import { working } from "trivium";
export default ${options('async *agent() { yield working(); console.log("working"); await new Promise(() => {}); }')};
`;
const compute = 'process.on("SIGTERM", () => {}); console.log("working"); for (;;);';

/** Runs `trivium serve` of a module and returns what it ends with; a signal counts as the code that a shell gives it. */
async function serveOf(
  own: Project,
  text: string,
  args: readonly string[] = [],
  signals: readonly NodeJS.Signals[] = [],
) {
  await own.write("agent.mjs", text);
  const child = startTrivium(["serve", "agent.mjs", "--port", "0", ...args], {}, own.folder);
  const end = once(child, "close");
  let output = "";
  const isReady = args.includes("--watch") || text.includes("working") ? /working/ : /listens at/;
  const until = (pattern: RegExp): Promise<void> =>
    new Promise((resolve) => {
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (piece) => {
          output += piece;
          if (pattern.test(output)) resolve();
        });
    });
  if (signals.length > 0) {
    const ready = until(isReady);
    if (text.includes("agent()"))
      void until(/listens at/).then(() => sendTo(/listens at (\S+)/.exec(output)?.[1] ?? ""));
    await ready;
  }
  for (const [index, signal] of signals.entries()) {
    if (index === 0) child.kill(signal);
    // Two signals that are not handled yet may come as one, or in another order.
    else
      await vi.waitUntil(() => !child.kill(signal) || child.exitCode !== null || child.signalCode !== null, {
        timeout: 20_000,
      });
  }
  const [code, signal] = (await end) as [number | null, keyof typeof endSignals | null];
  return signal === null ? code : endSignals[signal];
}

async function sendTo(url: string): Promise<void> {
  const body = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] } });
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  await fetch(`${url}/http-json/message:send`, { method: "POST", headers, body }).catch(() => {});
}

const plain = `export default ${options()};\n`;
const starting = 'console.log("working"); setInterval(() => {}, 1000); await new Promise(() => {});\n';
const wrong = ["--store", "mysql://db"];

/** How each ending comes about, with the exit codes that it has then. */
const cases: Readonly<Record<string, (own: Project) => Promise<Codes>>> = {
  "drained after a signal": async (own) => [
    await serveOf(own, plain, [], ["SIGTERM"]),
    await serveOf(own, plain, [], ["SIGINT"]),
    await serveOf(own, plain, [], ["SIGHUP"]),
  ],
  "a second signal, or one before it listens": async (own) => [
    await serveOf(own, holding, [], ["SIGHUP", "SIGHUP"]),
    await serveOf(own, holding, [], ["SIGINT", "SIGINT"]),
    await serveOf(own, starting, [], ["SIGTERM"]),
  ],
  "it cannot start: a taken port, a module or a store that cannot be used, a wrong option in a module": async (own) => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = String(typeof address === "object" ? address?.port : "");
    const codes = [
      await serveOf(own, plain, ["--port", port]),
      await serveOf(own, "export default 5;\n"),
      await serveOf(own, "await new Promise(() => {});\n"),
      await serveOf(own, "export default {\n"),
      await serveOf(own, plain, ["--store", "agent.mjs/tasks.db"]),
      await serveOf(own, `export default ${options("nonsense: 1")};\n`),
      await serveOf(own, plain, ["--config", "missing.ts"]),
    ];
    other.close();
    return codes;
  },
  "it cannot close its store": async (own) => {
    const store = `
import { sqliteStore } from "trivium/sqlite";
const store = sqliteStore({ path: "tasks.db" });
store.close = () => Promise.reject(new Error("no"));
export default ${options("store")};
`;
    return [await serveOf(own, store, [], ["SIGTERM"])];
  },
  "an error that the agent's code throws outside of a turn": async (own) => [
    await serveOf(own, `${plain}setTimeout(() => { throw new Error("no"); });\n`),
    await serveOf(own, `${plain}setTimeout(() => Promise.reject(new Error("no")));\n`),
  ],
  "wrong arguments or variables": async (own) => [
    await serveOf(own, plain, wrong),
    await serveOf(own, plain, ["--nonsense"]),
    (await triviumAlone(["serve", "agent.mjs"], { cwd: own.folder, env: { PORT: "abc" } })).code,
  ],
  "the agent's code calls `process.exit(7)`": async (own) => [
    await serveOf(own, `${plain}setTimeout(() => process.exit(7));\n`),
  ],
  "`--watch`: the agent has drained after a signal": async (own) => [
    await serveOf(own, holding.replace("await new", "return; await new"), ["--watch"], ["SIGTERM"]),
  ],
  "`--watch`: the agent had to be killed after a signal": async (own) => [
    await serveOf(own, compute, ["--watch"], ["SIGTERM"]),
  ],
  "`--watch`: a second signal, or one before the agent listens": async (own) => [
    await serveOf(own, compute, ["--watch"], ["SIGHUP", "SIGHUP"]),
    await serveOf(own, starting, ["--watch"], ["SIGINT"]),
    await serveOf(own, compute, ["--watch"], ["SIGTERM", "SIGTERM"]),
  ],
  "`--watch`: wrong arguments or variables": async (own) => [await serveOf(own, plain, ["--watch", ...wrong])],
};

it("the table of exit codes names each ending that a test brings about, and no other", () => {
  expect(endings.map(([ending]) => ending)).toEqual(Object.keys(cases));
  const meanings = tableOf("| exit code | meaning |").map(([, codes]) => codes);
  expect(meanings).toEqual([
    ...Object.values(exitCodes).map((code) => [code]),
    Object.values(endSignals).toSorted((one, other) => one - other),
  ]);
});

it.concurrent.for(endings)("the command ends with the code of the table: %s", async ([ending, codes], { expect }) => {
  await using own = await project();
  const found = await cases[ending]?.(own);
  // Ctrl-Break is of Windows.
  const expected = codes.filter((code) => code !== endSignals.SIGBREAK);
  expect([...new Set(found)].toSorted((one, other) => Number(one) - Number(other))).toEqual(expected);
});
