import { rename } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "trivium";
import { describe, expect, it } from "vitest";
import { triviumAlone } from "../support/command.js";
import { fixedPort } from "../support/fixed-port.js";
import { cardAt, project } from "../support/served-project.js";

describe.concurrent("trivium serve --watch", () => {
  it("restarts when a file changes, and a stream that it breaks resumes", async () => {
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

  it("restarts each time that an editor replaces a file, also one that could not be loaded", async ({ expect }) => {
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

  it("ends when the process that watches is killed", async ({ expect }) => {
    await using own = await project();
    await own.write(
      "agent.js",
      `export default { card: { name: "Echo", description: "Repeats what you say", version: "1.0.0" }, agent: async () => {} };\n`,
    );
    await using served = await own.serving(["agent.js", "--port", "0", "--watch"]);
    await served.stop("SIGKILL");
    await expect.poll(() => fetch(served.url).catch(() => "gone")).toBe("gone");
  });

  it("ends when its arguments are wrong", async () => {
    await using own = await project();
    await own.write("agent.js", "export default async () => {};\n");
    const { code, stderr } = await triviumAlone(["serve", "agent.js", "--watch", "--store", "mysql://db"], {
      cwd: own.folder,
    });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^error: a store is memory, /) });
  });
});
