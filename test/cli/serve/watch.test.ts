import { once } from "node:events";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "trivium";
import { describe, expect, it } from "vitest";
import { endSignals } from "../../../src/server/end-signals.js";
import { startTrivium, triviumAlone } from "../../support/command.js";
import { fixedPort } from "../../support/fixed-port.js";
import { cardAt, project } from "../../support/served-project.js";

describe.concurrent("trivium serve --watch", () => {
  it("trivium serve --watch restarts when a file changes, and a stream that it breaks resumes", async () => {
    await using own = await project();
    const slow = (description: string): string => `
import { artifact } from "trivium";
export default {
  card: { name: "Slow", description: "${description}", version: "1.0.0" },
  restartable: true,
  // A server takes over tasks one heartbeat after its start.
  limits: { heartbeatMs: 300 },
  async *agent({ signal }) {
    yield artifact("one ", { artifactId: "a" });
    // The run of before waits until the restart aborts it.
    if ("${description}" === "before") await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    yield artifact("one two", { artifactId: "a" });
  },
};
`;
    await own.write("agent.js", slow("before"));
    await using served = await own.serving(["agent.js", "--port", String(await fixedPort()), "--watch"]);
    await using client = await Client.connect(served.url, {
      retry: { maxAttempts: 500, maxPauseMs: 200, budget: 500 },
    });
    const stream = client.stream("go");
    let count = 0;
    for await (const _ of stream) if (count++ === 0) await own.write("agent.js", slow("after"));
    expect((await stream.answer).text).toBe("one two");
    expect(await (await fetch(`${served.url}/.well-known/agent-card.json`)).text()).toContain("after");
  });

  it("trivium serve --watch restarts each time that an editor replaces a file, also a broken one", async ({
    expect,
  }) => {
    await using own = await project();
    const replace = async (file: string, text: string): Promise<void> => {
      await own.write(`${file}~`, text);
      await rename(join(own.folder, `${file}~`), join(own.folder, file));
    };
    const named = (name: string): string =>
      `import "./part.js";\nexport default { card: { name: "${name}", description: "d", version: "1" }, agent: async () => {} };\n`;
    await own.write("part.js", "");
    await own.write("agent.js", named("one"));
    await using served = await own.serving(["agent.js", "--port", String(await fixedPort()), "--watch"]);
    const name = async () => (await cardAt(served.url).catch(() => undefined))?.name;
    await replace("agent.js", named("two"));
    await expect.poll(name).toBe("two");
    await replace("part.js", "throw new Error('broken');\n");
    await expect.poll(served.complaints).toContain("starts again when a file changes");
    await replace("agent.js", named("three"));
    await expect.poll(served.complaints).toMatch(/broken.*broken/s);
    await replace("part.js", "");
    await expect.poll(name).toBe("three");
    expect(await served.stop()).toBe(0);
  });

  it("trivium serve --watch ends when the process that watches is killed", async ({ expect }) => {
    await using own = await project();
    await own.write(
      "agent.js",
      `export default { card: { name: "Echo", description: "Repeats what you say", version: "1.0.0" }, agent: async () => {} };\n`,
    );
    await using served = await own.serving(["agent.js", "--port", "0", "--watch"]);
    await served.stop("SIGKILL");
    await expect.poll(() => fetch(served.url).catch(() => "gone")).toBe("gone");
  });

  it("trivium serve --watch ends when its arguments are wrong", async () => {
    await using own = await project();
    await own.write("agent.js", "export default async () => {};\n");
    const { code, stderr } = await triviumAlone(["serve", "agent.js", "--watch", "--store", "mysql://db"], {
      cwd: own.folder,
    });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^error: a store is memory, /) });
  });
});

/** Ways of an agent to never return to the event loop. Each says so first, with its process. */
const compute = 'process.stdout.write("computing in " + process.pid + "\\n"); for (;;);';
const stuck = {
  "in a call": `export default { card: { name: "Stuck", description: "d", version: "1" }, agent: async () => { ${compute} } };\n`,
  "while it starts": `${compute}\n`,
  "while it starts, after it has taken SIGTERM": `process.on("SIGTERM", () => {}); ${compute}\n`,
};
const mended = `export default { card: { name: "Mended", description: "d", version: "1" }, agent: async () => {} };\n`;

/** Starts an agent with `--watch`, and gets it to compute. */
async function computing(own: Awaited<ReturnType<typeof project>>, agent: string) {
  await own.write("agent.js", agent);
  const port = String(await fixedPort());
  const watcher = startTrivium(
    ["serve", "--log-level", "silent", "agent.js", "--port", port, "--watch"],
    {},
    own.folder,
  );
  // Its streams are those of the process that serves, too: they close when both are gone.
  const gone = once(watcher, "close");
  const url = `http://127.0.0.1:${port}`;
  let [output, notes] = ["", ""];
  watcher.stderr.on("data", (piece) => {
    notes += piece;
  });
  const pid = await new Promise<number>((resolve) => {
    watcher.stdout.on("data", (piece) => {
      const isListening = output.includes("listens at");
      output += piece;
      if (!isListening && output.includes("listens at")) {
        const body = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] } });
        const headers = { "content-type": "application/json", "a2a-version": "1.0" };
        fetch(`${url}/http-json/message:send`, { method: "POST", headers, body }).catch(() => {});
      }
      const served = /computing in (\d+)/.exec(output)?.[1];
      if (served !== undefined) resolve(Number(served));
    });
  });
  return { watcher, pid, gone, url, notes: () => notes };
}

// One after another: each takes a core, and the process that watches needs one within its times.
describe.for(Object.entries(stuck))("trivium serve --watch, when the agent computes %s,", ([, agent]) => {
  it("trivium serve --watch kills an agent that computes after a change, and starts the new one", async ({
    expect,
  }) => {
    await using own = await project();
    const { watcher, gone, url, notes } = await computing(own, agent);
    await own.write("agent.js", mended);
    await expect.poll(() => cardAt(url).catch(() => undefined), { timeout: 20_000 }).toMatchObject({ name: "Mended" });
    expect(notes()).toMatch(/agent.js has changed: restarting/);
    watcher.kill("SIGTERM");
    expect(await gone).toEqual([0, null]);
  });

  it.for(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "trivium serve --watch with an agent that computes ends at %s, as from a terminal",
    async (signal, { expect }) => {
      await using own = await project();
      const { watcher, pid, gone } = await computing(own, agent);
      // A terminal signals the whole group. The service manager that sends SIGTERM signals one process or all of them.
      process.kill(pid, signal);
      watcher.kill(signal);
      const [code] = await gone;
      // It had to be killed, or no code of it listened for the signal.
      expect([1, endSignals[signal]]).toContain(code);
    },
  );

  it.for([
    ["SIGINT", "SIGINT"],
    ["SIGTERM", "SIGINT"],
    ["SIGHUP", "SIGTERM"],
  ] as const)(
    "trivium serve --watch with an agent that computes ends at once with %s and then %s",
    async ([first, second], { expect }) => {
      await using own = await project();
      const { watcher, gone, notes } = await computing(own, agent);
      watcher.kill(first);
      // Two signals that are not handled yet may come as one.
      await expect
        .poll(() => {
          watcher.kill(second);
          return watcher.exitCode ?? watcher.signalCode;
        })
        .not.toBeNull();
      await gone;
      // What has no handler yet is gone with the first one.
      expect([endSignals[first], endSignals[second], null]).toContain(watcher.exitCode);
      expect(notes()).not.toContain("killed");
    },
  );

  it("trivium serve --watch leaves nothing of an agent that computes when the watching process is killed", async () => {
    await using own = await project();
    const { watcher, gone } = await computing(own, agent);
    watcher.kill("SIGKILL");
    expect(await gone).toEqual([null, "SIGKILL"]);
  });
});

describe.concurrent("trivium serve --watch", () => {
  it("trivium serve --watch drains at the signals that a terminal sends to it and to the agent", async () => {
    await using own = await project();
    const drained = `
process.stdout.write(\`pid \${process.pid}\\n\`);
export default {
  card: { name: "Slow", description: "d", version: "1" },
  async *agent({ signal }) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    process.stdout.write("aborted\\n");
  },
};
`;
    await own.write("agent.js", drained);
    await using served = await own.serving(["agent.js", "--port", "0", "--watch"]);
    await using client = await Client.connect(served.url);
    await client.send("go", { configuration: { returnImmediately: true } });
    const pid = Number(/pid (\d+)/.exec(served.printed())?.[1]);
    for (const _ of [1, 2, 3]) process.kill(pid, "SIGINT");
    expect(await served.stop("SIGINT")).toBe(0);
    expect(served.printed()).toContain("aborted");
  });
});
