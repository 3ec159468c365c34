import { spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { type Server, serve } from "trivium";
import { afterAll, beforeAll, describe, it } from "vitest";
import { root, startTrivium } from "../support/command.js";
import { owned } from "../support/owned.js";

// Pages that an agent names, and when the command opens them in the user's browser.

let agent: Server;
let browser: string;
beforeAll(async () => {
  agent = await serve({
    card: { name: "Calendar", description: "d", version: "1" },
    port: 0,
    logger: false,
    drainMs: 0,
    async *agent({ authorize, text }) {
      await authorize({ url: text, text: "I need your calendar." });
    },
  });
  browser = join(await mkdtemp(join(tmpdir(), "browser-")), "browser");
  await writeFile(browser, '#!/bin/sh\necho "$1" >> "$OPENED"\n');
  await chmod(browser, 0o755);
});
afterAll(() => agent.close());

/** Where the browser writes what it opens. */
async function environment() {
  const folder = await mkdtemp(join(tmpdir(), "opened-"));
  const opened = join(folder, "urls");
  return { BROWSER: browser, OPENED: opened, TRIVIUM_LOGINS: join(folder, "logins.json") };
}

/** Sends an agent the URL of a page, and returns what the command says about the page, and the page that it has opened. */
async function shown(url: string, args: readonly string[] = []) {
  const env = await environment();
  const child = startTrivium(["send", agent.url, url, ...args], env);
  let notes = "";
  for await (const piece of child.stderr) {
    notes += piece;
    if (/^(?:Opened|Open|Not opened).*\n/m.test(notes)) break;
  }
  child.kill("SIGKILL");
  return { notes, opened: await openedIn(env) };
}

const openedIn = ({ OPENED }: { readonly OPENED: string }): Promise<string> => readFile(OPENED, "utf8").catch(() => "");

describe.concurrent("a page that an agent names", () => {
  it.for([
    "http://localhost:5000/delete",
    "http://app.localhost/",
    "http://127.0.0.1:41241/",
    "http://127.8.9.1/",
    "http://2130706433/",
    "https://0.0.0.0/",
    "http://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://192.168.1.1/reboot",
    "https://169.254.169.254/latest",
    "https://[fe80::1]/",
    "https://[fd00::1]/",
    "https://100.64.0.1/",
    `https://${hostname()}/`,
    "https://nowhere.invalid/",
  ])("a page that an agent names is not opened without a terminal to ask at when it is %s", async (url, { expect }) => {
    const { notes, opened } = await shown(url);
    const { origin, href } = new URL(url);
    expect(notes).toContain(`Not opened, since it is not on the internet (--trust ${origin} opens it): ${href}\n`);
    expect(opened).toBe("");
  });

  it("a page that an agent names is opened when it is on the internet, or its origin is trusted", async ({
    expect,
  }) => {
    expect((await shown("https://1.1.1.1/page")).notes).toContain("Opened in your browser: https://1.1.1.1/page\n");
    const trusted = await shown("http://localhost:5000/page", ["--trust", "http://localhost:5000"]);
    expect(trusted.notes).toContain("Opened in your browser: http://localhost:5000/page\n");
    const other = await shown("http://localhost:5001/page", ["--trust", "http://localhost:5000"]);
    expect(other.notes).toContain("Not opened");
  });

  // `script` gives the command a terminal.
  describe.runIf(process.platform === "linux")("at a terminal", () => {
    it.for([
      ["y", "http://localhost:5000/page\n"],
      ["n", ""],
      ["", ""],
    ])(
      "a page that an agent names is opened at a terminal only after a yes: %j",
      async ([answer, expected], { expect }) => {
        const env = await environment();
        const command = `'${process.execPath}' dist/src/cli/main.js send ${agent.url} http://localhost:5000/page`;
        const child = owned(
          spawn("script", ["-qec", command, "/dev/null"], { cwd: root, env: { ...process.env, ...env } }),
        );
        let output = "";
        for await (const piece of child.stdout) {
          output += piece;
          if (output.includes("[y/N]")) break;
        }
        expect(output).toContain("Open http://localhost:5000 in your browser? [y/N] ");
        child.stdin.write(`${answer}\n`);
        if (expected === "") child.stdin.write("\u0003");
        else await expect.poll(() => openedIn(env)).toBe(expected);
        child.kill("SIGTERM");
        expect(await openedIn(env)).toBe(expected);
      },
    );
  });
});
