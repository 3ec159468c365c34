import { once } from "node:events";
import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, artifact, file, type Server, serve } from "trivium";
import { afterAll, beforeAll, describe, it } from "vitest";
import { idleTimeoutMs, type SaveOptions, saveFiles } from "../../src/cli/save-files.js";
import type { FileContent } from "../../src/protocol/content/read.js";
import { startTrivium, trivium } from "../support/command.js";
import { type HttpServer, serveHttp } from "../support/http-agent.js";
import { createVirtualClock } from "../support/virtual-clock.js";

// Files that an agent names and that have no end, or never come.

const mebibyte = Buffer.alloc(1 << 20, "x");
let files: HttpServer;
let agent: Server;
beforeAll(async () => {
  files = await serveHttp(
    createServer(async (request, response) => {
      if (request.url === "/silent") return;
      if (request.url === "/whole.bin") return void response.end(mebibyte);
      response.write(mebibyte);
      if (request.url === "/stuck.bin") return;
      if (request.url === "/cut.bin") return void response.destroy();
      while (!response.destroyed) {
        if (!response.write(mebibyte)) await Promise.race([once(response, "drain"), once(response, "close")]);
      }
    }),
  );
  const act: Agent = async function* ({ text }) {
    yield artifact(text.split(" ").map((path) => file(`${files.url}${path}`, { filename: path.slice(1) })));
  };
  agent = await serve({ card: { name: "Files", description: "d", version: "1" }, agent: act, port: 0, logger: false });
});
afterAll(async () => {
  await agent.close();
  await files[Symbol.asyncDispose]();
});

const folder = (): Promise<string> => mkdtemp(join(tmpdir(), "trivium-save-"));

describe.concurrent("--save", () => {
  it("--save ends a file at --max-bytes, keeps those before it, and leaves no part of it", async ({ expect }) => {
    const to = await folder();
    const run = await trivium(["send", agent.url, "/whole.bin /endless.bin", "--save", to, "--max-bytes", "3m"]);
    expect(run).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^saved .*whole\.bin\ncontentTooLarge: .*--max-bytes/),
    });
    expect(await readdir(to)).toEqual(["whole.bin"]);
    expect((await readFile(join(to, "whole.bin"))).length).toBe(mebibyte.length);
  });

  it("--save counts all files together", async ({ expect }) => {
    const to = await folder();
    const send = (size: string) =>
      trivium(["send", agent.url, "/whole.bin /whole.bin", "--save", to, "--max-bytes", size]);
    expect(await send("2047k")).toMatchObject({ code: 1, stderr: expect.stringContaining("contentTooLarge") });
    expect(await readdir(to)).toEqual(["whole.bin"]);
    expect(await send("2m")).toMatchObject({ code: 0 });
    expect((await readdir(to)).toSorted()).toEqual(["whole-2.bin", "whole-3.bin", "whole.bin"]);
  });

  it("--save ends a file that takes longer than --save-timeout", async ({ expect }) => {
    const to = await folder();
    const run = await trivium(["send", agent.url, "/stuck.bin", "--save", to, "--save-timeout", "300ms"]);
    expect(run).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is incomplete after 0\.3 s, the limit of --save-timeout/),
    });
    expect(await readdir(to)).toEqual([]);
  });

  it("--save leaves no part of a file whose connection breaks", async ({ expect }) => {
    const to = await folder();
    expect(await trivium(["send", agent.url, "/cut.bin", "--save", to])).toMatchObject({ code: 1 });
    expect(await readdir(to)).toEqual([]);
  });

  it.for([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)(
    "--save leaves no part of a file after %s, and none has the name meanwhile",
    async ([signal, code], { expect }) => {
      const to = await folder();
      const child = startTrivium(["send", agent.url, "/stuck.bin", "--save", to]);
      await expect.poll(() => readdir(to)).toEqual([expect.stringMatching(/^\.trivium-.*\.part$/)]);
      const end = once(child, "close");
      child.kill(signal);
      expect(await end).toEqual([code, null]);
      expect(await readdir(to)).toEqual([]);
    },
  );

  it("--save keeps names in one direction and in view", async ({ expect }) => {
    const to = await folder();
    const name = "invoice\u202egpj.exe\u200b\u2066.txt";
    const bytes = new TextEncoder().encode("x");
    for await (const _ of saveFiles([{ name, bytes: () => bytes } as FileContent], options(to)));
    expect(await readdir(to)).toEqual(["invoice_gpj.exe__.txt"]);
  });

  it.for(["/silent", "/stuck.bin"])(
    "--save gives up a server that sends nothing for half a minute: %s",
    async (path, { expect }) => {
      const to = await folder();
      const clock = createVirtualClock();
      const content = { url: `${files.url}${path}`, name: "f" } as FileContent;
      const saving = saveFiles([content], { ...options(to), clock }).next();
      const failure = saving.catch((error: unknown) => error);
      const isOver = Promise.race([failure.then(() => true), once(files.server, "request").then(() => false)]);
      if (path === "/silent") await isOver;
      const advance = async (): Promise<boolean> => {
        await clock.advance(idleTimeoutMs);
        return Promise.race([
          failure.then(() => true),
          new Promise<boolean>((resolve) => setImmediate(resolve, false)),
        ]);
      };
      await expect.poll(advance).toBe(true);
      expect(await failure).toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("sent nothing for 30 s"),
      });
      expect(await readdir(to)).toEqual([]);
    },
  );
});

function options(to: string): SaveOptions {
  const { signal } = new AbortController();
  return { folder: to, maxBytes: 1 << 30, timeoutMs: 3_600_000, agent: agent.url, tls: undefined, signal };
}
