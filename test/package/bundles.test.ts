import { cp, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { execute } from "../support/owned.js";
import { createProject, type Project } from "./project.js";

// Bundles a server with the packed package, and runs it in a folder that has nothing else.

const program = `
import { connect } from "node:http2";
import { artifact, serve } from "trivium";
import { Client } from "trivium/client";
import { sqliteStore } from "trivium/sqlite";

/** The answer to one message over gRPC, as Latin-1 text. */
async function ask(url, path, message) {
  const session = connect(url);
  const request = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" });
  request.end(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]));
  let text = "";
  for await (const chunk of request) text += chunk.toString("latin1");
  session.close();
  return text;
}

async function main() {
  const store = sqliteStore({ path: "tasks.db" });
  const server = await serve({
    card: { name: "Echo", description: "Repeats", version: "1.0.0" },
    port: 0,
    bindings: ["JSONRPC", "GRPC", "HTTP+JSON", "CONNECT"],
    logger: false,
    store,
    async *agent({ text }) {
      yield artifact(text);
    },
  });
  for (const binding of ["JSONRPC", "GRPC", "HTTP+JSON", "CONNECT"]) {
    const client = await Client.connect(server.url, { prefer: [binding] });
    const { text } = await client.send("hello");
    console.log(binding, client.connection.binding, text);
    await client.close();
  }
  const info = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  console.log("reflection", /lf\\.a2a\\.v1\\.A2AService/.test(await ask(server.url, info, Buffer.from([0x3a, 1, 0x2a]))));
  console.log("health", (await ask(server.url, "/grpc.health.v1.Health/Check", Buffer.alloc(0))).endsWith("\\b\\x01"));
  console.log("ready", (await fetch(server.url + "/readyz")).status);
  await server.close();
  await store.close();
}
main().catch((error) => {
  console.log(error.message);
  process.exit(1);
});
`;

const works = `JSONRPC JSONRPC hello
GRPC GRPC hello
HTTP+JSON HTTP+JSON hello
CONNECT CONNECT hello
reflection true
health true
ready 200
`;

const banner = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
const esbuild = ["esbuild", "server.js", "--bundle", "--platform=node", "--log-level=warning"];
const rolldown = ["rolldown", "server.js", "--platform", "node"];

describe("a bundled server", () => {
  let project: Project;
  beforeAll(async () => {
    project = await createProject("esbuild@0.28", "rolldown@1");
    await project.write("server.js", program);
  });

  /** What the bundle prints, and its exit code. */
  async function bundled(file: string, command: readonly string[]) {
    const [bundler = "", ...args] = command;
    const built = await project.run(join("node_modules/.bin", bundler), ...args);
    expect(built.code, built.output).toBe(0);
    const folder = await mkdtemp(join(inject("workFolder"), "bundle-"));
    await mkdir(join(folder, "app"));
    const [from = ""] = file.split("/");
    await cp(join(project.folder, from), join(folder, "app"), { recursive: true });
    await writeFile(
      join(folder, "app/package.json"),
      JSON.stringify({ type: command.includes("cjs") || command.includes("--format=cjs") ? "commonjs" : "module" }),
    );
    const run = execute(process.execPath, [file.slice(from.length + 1)], { cwd: join(folder, "app") });
    const { stdout } = await run.catch((error: { readonly stdout: string }) => error);
    return { printed: stdout, code: run.child.exitCode };
  }

  it.each([
    ["esbuild, with `require`", "esm/server.mjs", [...esbuild, "--format=esm", `--banner:js=${banner}`]],
    ["esbuild, minified", "min/server.mjs", [...esbuild, "--minify", "--format=esm", `--banner:js=${banner}`]],
    ["esbuild, as CommonJS", "cjs/server.cjs", [...esbuild, "--format=cjs"]],
  ])("a bundled server works by %s", async (_, file, command) => {
    expect(await bundled(file, [...command, `--outfile=${file}`])).toEqual({ printed: works, code: 0 });
  });

  it.each([
    ["rolldown", [...rolldown, "--format", "esm", "-d", "parts-r"], "parts-r/server.js"],
    ["rolldown, as CommonJS", [...rolldown, "--format", "cjs", "-d", "parts-c"], "parts-c/server.js"],
    [
      "esbuild",
      [...esbuild, "--format=esm", "--splitting", `--banner:js=${banner}`, "--outdir=parts-e"],
      "parts-e/server.js",
    ],
  ])("a bundled server works in several files by %s", async (_, command, file) => {
    expect(await bundled(file, command)).toEqual({ printed: works, code: 0 });
  });

  it("a bundled server that has no `require` does not start, and says what to change", async () => {
    const { printed, code } = await bundled("bare/server.mjs", [
      ...esbuild,
      "--format=esm",
      "--outfile=bare/server.mjs",
    ]);
    expect(printed).toMatch(
      /^this bundle cannot load koa, which needs `require`: bundle as CommonJS .*docs\/guides\/bundle\.md\)\n$/,
    );
    expect(code).toBe(1);
  });
});
