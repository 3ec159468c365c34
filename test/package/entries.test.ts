import { beforeAll, describe, expect, it } from "vitest";
import { createProject, type Project } from "./project.js";

const sources: Readonly<Record<string, () => Promise<object>>> = {
  trivium: () => import("../../src/index.js"),
  "trivium/a2a-js": () => import("../../src/executor/index.js"),
  "trivium/auth": () => import("../../src/auth/schemes/index.js"),
  "trivium/client": () => import("../../src/client/index.js"),
  "trivium/express": () => import("../../src/mounting/express.js"),
  "trivium/fastify": () => import("../../src/mounting/fastify.js"),
  "trivium/hono": () => import("../../src/mounting/hono.js"),
  "trivium/next": () => import("../../src/mounting/next.js"),
  "trivium/postgres": () => import("../../src/store/postgres/index.js"),
  "trivium/sqlite": () => import("../../src/store/sqlite/index.js"),
  "trivium/testing": () => import("../../src/testing/index.js"),
};

describe("the entry points of the packed package", () => {
  let project: Project;
  beforeAll(async () => {
    project = await createProject();
  });

  /** What a program prints as JSON. */
  const printed = async <T>(source: string, ...options: readonly string[]): Promise<T> => {
    await project.write("main.js", source);
    const { code, output } = await project.run(process.execPath, ...options, "main.js");
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/^[[{"]/) });
    return JSON.parse(output) as T;
  };

  it("the entry points export the names of their sources, each one object in all but the two clients", async () => {
    const { names, different } = await printed<{
      readonly names: Readonly<Record<string, readonly string[]>>;
      readonly different: readonly string[];
    }>(`
      const entries = await Promise.all(${JSON.stringify(Object.keys(sources))}.map(async (entry) => [entry, await import(entry)]));
      const seen = new Map();
      const different = [];
      for (const [entry, exports] of entries) {
        for (const [name, value] of Object.entries(exports)) {
          if (seen.has(name) && seen.get(name) !== value) different.push(entry + " " + name);
          seen.set(name, value);
        }
      }
      const names = Object.fromEntries(entries.map(([entry, exports]) => [entry, Object.keys(exports)]));
      console.log(JSON.stringify({ names, different }));
    `);
    for (const [entry, load] of Object.entries(sources))
      expect(new Set(names[entry]), entry).toEqual(new Set(Object.keys(await load())));
    expect(different).toEqual(["trivium/client Client"]);
  });

  it("the entry points load of other packages no more than a start needs", async () => {
    const loaded = await printed(`
      import { registerHooks } from "node:module";
      const urls = [];
      registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
      const { serve } = await import("trivium");
      const { sqliteStore } = await import("trivium/sqlite");
      const card = { name: "Pong", description: "Answers", version: "1.0.0" };
      await serve({ card, port: 0, logger: false, store: sqliteStore({ path: ":memory:" }), agent: async () => undefined });
      const names = urls.flatMap((url) => /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\/(?!.*node_modules)/.exec(url)?.[1] ?? []);
      console.log(JSON.stringify([...new Set(names)].sort()));
      process.exit();
    `);
    expect(loaded).toEqual(["ipaddr.js", "trivium"]);
  });

  it("the entry points carry messages over every binding", async () => {
    const texts = await printed(`
      import { Client, reply, serve } from "trivium";
      const server = await serve({
        card: { name: "Pong", description: "Answers", version: "1.0.0" },
        port: 0,
        logger: false,
        bindings: ["JSONRPC", "GRPC", "HTTP+JSON", "CONNECT"],
        async *agent({ text }) { yield reply(text + " pong"); },
      });
      const texts = [];
      for (const binding of ["JSONRPC", "GRPC", "HTTP+JSON", "CONNECT"]) {
        const client = await Client.connect(server.url, { prefer: [binding] });
        texts.push((await client.send(binding)).text, await client.stream(binding).answer.then(({ text }) => text));
        await client.close();
      }
      await server.close();
      console.log(JSON.stringify(texts));
    `);
    const each = ["JSONRPC", "GRPC", "HTTP+JSON", "CONNECT"].map((binding) => `${binding} pong`);
    expect(texts).toEqual(each.flatMap((text) => [text, text]));
  });

  it("the entry points are the same modules for `import` and `require`", async () => {
    const same = await printed(`
      import { createRequire } from "node:module";
      import { A2AError } from "trivium";
      console.log(JSON.stringify([createRequire(import.meta.url)("trivium/client").A2AError === A2AError]));
    `);
    expect(same).toEqual([true]);
  });

  it("the entry points show the lines of their sources in the stack of an error", async () => {
    const stack = await printed(
      `
        import { file } from "trivium";
        try { file("./chart.png"); } catch (error) { console.log(JSON.stringify(error.stack)); }
      `,
      "--enable-source-maps",
    );
    expect(stack).toMatch(/at file \S*src\/protocol\/parts\.ts:\d+:\d+/);
  });
});
