import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { openTerminals, type Terminals } from "./terminals.js";

let folder = "";
let terminals: Terminals;
beforeEach(() => {
  folder = mkdtempSync(join(inject("workFolder"), "terminals-"));
  terminals = openTerminals(folder, process.env);
});
afterEach(async () => terminals.close());

const serving = `node -e '
  const server = require("http").createServer((req, res) => res.end(process.argv[1])).listen(Number(process.env.AT ?? 0), "127.0.0.1", () =>
    console.log("http://127.0.0.1:" + server.address().port));'`;

describe("the terminals of a page", () => {
  it("the terminals of a page keep the folder and the variables of one block for the next", async () => {
    mkdirSync(join(folder, "inside"));
    await terminals.run("cd inside\nNAME=harbour");
    await terminals.run('echo "at $NAME"\ncat');
    await terminals.printed(["at harbour", "a…bour"]);
    expect(terminals.folder()).toBe(join(folder, "inside"));
  });

  it("the terminals of a page reject when a command fails, with what it printed", async () => {
    await expect(terminals.run("echo before\nfalse | cat\necho after")).rejects.toThrow(/ended with 1, .*\nbefore\n$/s);
  });

  it("the terminals of a page run a server beside, which the same command starts anew", async () => {
    await terminals.runBeside(`AT=41999 ${serving} one`);
    await terminals.run("curl -s http://127.0.0.1:41999");
    await terminals.printed(["one"]);
    await terminals.runBeside(`AT=41999 ${serving} one`);
    await terminals.run("curl -s http://127.0.0.1:41999");
  });

  it("the terminals of a page wait for a server in the background, which later blocks may kill", async () => {
    await terminals.run(`AT=41999 ${serving} two &`);
    await terminals.run("curl -s http://127.0.0.1:41999\nkill -9 %1\n! curl -s http://127.0.0.1:41999");
    await terminals.printed(["two"]);
  });

  it("the terminals of a page end what runs in the background, also when a command has failed since", async () => {
    await terminals.run(`AT=41999 ${serving} three &`);
    await expect(terminals.run("false")).rejects.toThrow();
    await terminals.close();
    await expect(fetch("http://127.0.0.1:41999")).rejects.toThrow("fetch failed");
  });
});
