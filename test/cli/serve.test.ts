import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "trivium";
import { describe, expect, it } from "vitest";
import { root, startTrivium, trivium, triviumAlone } from "../support/command.js";
import { fixedPort } from "../support/fixed-port.js";

const card = '{ name: "Echo", description: "Repeats what you say", version: "1.0.0" }';
const echo = `import { artifact, type ServeOptions } from "trivium";
export default {
  card: ${card},
  publicUrl: "https://module.example",
  async *agent({ text }) { yield artifact(text); },
} satisfies ServeOptions;
`;

/** A folder with a program that has the package. */
interface Project extends AsyncDisposable {
  readonly folder: string;
  write(file: string, text: string): Promise<void>;
  /** Runs `trivium serve` there. */
  serving(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Serving>;
}

async function project(): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), "trivium-serve-"));
  await mkdir(join(folder, "node_modules"));
  await symlink(root, join(folder, "node_modules/trivium"));
  return {
    folder,
    write: (file, text) => writeFile(join(folder, file), text),
    serving: (args, env) => servingIn(folder, args, env),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

interface Serving extends AsyncDisposable {
  readonly url: string;
  /** What it has printed. */
  readonly printed: () => string;
  /** The same on stderr. */
  readonly complaints: () => string;
  /** Stops it and returns its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

async function servingIn(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Serving> {
  const child = startTrivium(["serve", "--log-level", "silent", ...args], env, folder);
  let [complaints, output] = ["", ""];
  child.stdout.on("data", (piece) => {
    output += String(piece);
  });
  child.stderr.on("data", (piece) => {
    complaints += String(piece);
  });
  const ended = once(child, "close");
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> => {
    child.kill(signal);
    await ended;
    return child.exitCode;
  };
  for await (const line of createInterface(child.stdout)) {
    const url = /listens at (\S+)$/.exec(line)?.[1];
    if (url === undefined) continue;
    child.stdout.resume();
    return {
      url,
      printed: () => output,
      complaints: () => complaints,
      stop,
      [Symbol.asyncDispose]: async () => void (await stop()),
    };
  }
  throw new Error(`it did not listen: ${complaints}`);
}

const cardAt = async (url: string): Promise<{ name: string; supportedInterfaces: { url: string }[] }> =>
  JSON.parse(await (await fetch(`${url}/.well-known/agent-card.json`)).text());

describe.concurrent("trivium serve", () => {
  it("serves the options that a module exports, and ends with 0", async () => {
    await using own = await project();
    await own.write("agent.ts", echo);
    const served = await own.serving(["agent.ts", "--port", "0"]);
    // The URLs of its card are those of `publicUrl`, where nothing listens.
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] };
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const body = JSON.stringify({ message });
    const answer = await fetch(`${served.url}/http-json/message:send`, { method: "POST", headers, body });
    expect(await answer.text()).toContain('"artifacts":[{');
    expect(await served.stop()).toBe(0);
  });

  it("serves an agent alone, with the card of its package", async () => {
    await using own = await project();
    await own.write(
      "package.json",
      JSON.stringify({ name: "yes-man", description: "Agrees", version: "2.0.0", type: "module" }),
    );
    await own.write("agent.js", 'import { reply } from "trivium";\nexport default async () => reply("yes");\n');
    await using served = await own.serving(["agent.js"], { PORT: "0" });
    expect(await cardAt(served.url)).toMatchObject({ name: "yes-man", description: "Agrees", version: "2.0.0" });
    await using client = await Client.connect(served.url);
    expect((await client.send("really?")).text).toBe("yes");
  });

  it("serves several agents, and names each", async () => {
    await using own = await project();
    const agent = (name: string): string =>
      `{ card: { name: "${name}", description: "d", version: "1.0.0" }, agent: async () => reply("${name}") }`;
    const agents = `{ "/weather": ${agent("Weather")}, "/travel": ${agent("Travel")} }`;
    await own.write("agents.js", `import { reply } from "trivium";\nexport default { agents: ${agents} };\n`);
    await using served = await own.serving(["agents.js", "--port", "0", "--store", "tasks.db"]);
    for (const [path, name] of [
      ["/weather", "Weather"],
      ["/travel", "Travel"],
    ] as const) {
      await using client = await Client.connect(new URL(path, served.url));
      expect((await client.send("who?")).text).toBe(name);
    }
    expect(await served.stop()).toBe(0);
    const { origin } = new URL(served.url);
    expect(served.printed()).toBe(`Weather listens at ${origin}/weather\nTravel listens at ${origin}/travel\n`);
  });

  it("says which part of a card its package misses", async () => {
    await using own = await project();
    await own.write("agent.js", "export default async () => {};\n");
    const started = () => trivium(["serve", "agent.js", "--port", "0"], { cwd: own.folder });
    expect((await started()).stderr).toMatch(/^error: agent.js gives no card, and there is no package.json/);
    await own.write("package.json", JSON.stringify({ name: "new", description: "", version: "1.0.0", type: "module" }));
    const { code, stderr } = await started();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: agent.js gives no card, and .*package.json has no description: add that there/);
  });

  it.each([
    [
      "a flag before all",
      ["--public-url", "https://flag.example"],
      { TRIVIUM_PUBLIC_URL: "https://env.example" },
      "flag",
    ],
    ["the environment before files", [], { TRIVIUM_PUBLIC_URL: "https://env.example" }, "env"],
    ["a configuration by name", ["--config", "other.ts"], {}, "other"],
    ["trivium.config.ts before the module", [], {}, "config"],
  ] as const)("takes an option from %s", async (_, args, env, from) => {
    await using own = await project();
    await own.write("agent.ts", echo);
    const config = (name: string): string => `export default { publicUrl: "https://${name}.example", port: 0 };\n`;
    await own.write("trivium.config.ts", config("config"));
    await own.write("other.ts", config("other"));
    await using served = await own.serving(["agent.ts", ...args], env);
    expect((await cardAt(served.url)).supportedInterfaces[0]?.url).toBe(`https://${from}.example/json-rpc`);
  });

  it.each([
    ["there is no such file", undefined, "error: there is no file agent.ts"],
    ["its module exports something else", "export default 7;", "error: agent.ts exports no agent by default"],
    ["its module fails, showing where", "\nthrow new Error('no key');", "no key\n    at .*file:///.*/agent.ts:2:"],
    [
      "an option is unknown",
      `export default { card: ${card}, agnt: 1, agent: async () => {} };`,
      "agnt cannot be given: did you mean agent\\?",
    ],
    ["nothing gives a card", "export default async () => {};", "card"],
  ])("says in words when %s", async (_, source, said) => {
    await using own = await project();
    if (source !== undefined) await own.write("agent.ts", source);
    const { code, stdout, stderr } = await trivium(["serve", "agent.ts", "--port", "0"], { cwd: own.folder });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(new RegExp(said));
  });

  it("restarts with --watch when a file changes, and a stream that it breaks resumes", async () => {
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

  it("restarts with --watch each time that an editor replaces a file, also one that could not be loaded", async ({
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

  it("ends with --watch when the process that watches is killed", async ({ expect }) => {
    await using own = await project();
    await own.write("agent.js", `export default { card: ${card}, agent: async () => {} };\n`);
    await using served = await own.serving(["agent.js", "--port", "0", "--watch"]);
    await served.stop("SIGKILL");
    await expect.poll(() => fetch(served.url).catch(() => "gone")).toBe("gone");
  });

  it("ends with --watch when its arguments are wrong", async () => {
    await using own = await project();
    await own.write("agent.js", "export default async () => {};\n");
    const { code, stderr } = await triviumAlone(["serve", "agent.js", "--watch", "--store", "mysql://db"], {
      cwd: own.folder,
    });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^error: a store is memory, /) });
  });
});
