import { chmod, mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { artifact, type Server, serve } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findOpener } from "../../../src/cli/login/show-page.js";
import { startTrivium, trivium, triviumAlone } from "../../support/command.js";
import { serveHttp } from "../../support/http-agent.js";
import { type IdentityProvider, identityProvider, person, robot } from "../../support/identity-provider.js";
import { card, pageOf, sending, weather } from "../../support/sign-in.js";

// Signing in from the command line, at a real authorization server.

const userAgent = fileURLToPath(new URL("../../support/user-agent.mjs", import.meta.url));

let provider: IdentityProvider;
let agent: Server;
let browser: string;

/** The environment of one user, whose tokens are in a folder of their own. */
async function home(more: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), "login-"));
  return { BROWSER: browser, TRIVIUM_LOGINS: join(folder, "state", "logins.json"), ...more };
}

beforeAll(async () => {
  provider = await identityProvider();
  agent = await weather(provider.origin);
  browser = join(await mkdtemp(join(tmpdir(), "browser-")), "browser");
  await writeFile(browser, `#!/bin/sh\nexec '${process.execPath}' '${userAgent}' "$1"\n`);
  await chmod(browser, 0o755);
});
afterAll(async () => {
  await agent.close();
  await provider[Symbol.asyncDispose]();
});

const send = (url: string) => sending(url, provider);

describe("the browser", () => {
  it.each([
    ["darwin", {}, ["open"]],
    ["win32", {}, ["rundll32", "url.dll,FileProtocolHandler"]],
    ["linux", { DISPLAY: ":0" }, ["xdg-open"]],
    ["linux", { WAYLAND_DISPLAY: "wayland-0" }, ["xdg-open"]],
    ["linux", {}, undefined],
    ["linux", { BROWSER: "firefox" }, ["firefox"]],
  ] as const)("the browser command on %s with %j is %j", (platform, env, opener) => {
    expect(findOpener(platform, env)).toEqual(opener);
  });
});

describe.concurrent("--login", () => {
  it.each(["openid", "code", "device"] as const)("--login signs in by %s, in the browser", async (flow) => {
    await using served = await weather(provider.origin, flow);
    const run = await trivium(send(served.url), { env: await home() });
    expect(run.stderr).toMatch(
      new RegExp(`Sign in to use ${served.url}.*\nOpened in your browser: ${provider.origin}/`),
    );
    expect(run.stdout).toBe(`Hello ${provider.origin}#alice with read\n`);
  });

  it("--login keeps the tokens for the next command, for their user alone and for this agent alone", async () => {
    const env = await home();
    const first = await trivium(send(agent.url), { env });
    const second = await triviumAlone(send(agent.url), { env });
    expect(second).toEqual({ code: 0, stdout: first.stdout, stderr: "" });
    expect((await stat(env.TRIVIUM_LOGINS)).mode & 0o777).toBe(0o600);
    await using other = await weather(provider.origin);
    expect((await trivium(send(other.url), { env })).stderr).toContain("Sign in to use");
    expect(await triviumAlone(["logout", agent.url], { env })).toMatchObject({ stdout: '{"logins":1}\n' });
    expect((await trivium(send(agent.url), { env })).stderr).toContain("Sign in to use");
    expect(await trivium(["logout"], { env })).toMatchObject({ stdout: '{"logins":2}\n' });
    expect(JSON.parse(await readFile(env.TRIVIUM_LOGINS, "utf8"))).toEqual([]);
  });

  it("--login asks for more scopes when the agent needs them", async () => {
    const env = await home();
    await trivium(send(agent.url), { env });
    const { stderr } = await trivium(
      ["call", agent.url, "CancelTask", '{"id":"x"}', "--login", person.clientId, "--trust", provider.origin],
      { env },
    );
    expect(stderr).toContain("Sign in to use");
    expect(stderr).toContain("taskNotFound");
  });

  it("--login says that the user refused", async () => {
    const run = await trivium(send(agent.url), { env: await home({ TRIVIUM_USER: "nobody" }) });
    expect([run.code, run.stdout]).toEqual([1, ""]);
    expect(run.stderr).toContain(`the authorization endpoint ${provider.origin}/auth refused: access_denied`);
  });

  it("--login says which option trusts another authorization server, and sends nobody there without", async () => {
    const run = await trivium(["send", agent.url, "Hello.", "--login", person.clientId], { env: await home() });
    expect(run.code).toBe(1);
    expect(run.stderr).toContain(`: trust it with --trust ${provider.origin}\n`);
    expect(run.stderr).not.toContain("Sign in");
  });

  it("--login uses client credentials where a secret is given and the card wants them", async () => {
    await using served = await weather(provider.origin, "credentials");
    const env = await home({ TRIVIUM_CLIENT_SECRET: robot.clientSecret });
    const run = await trivium(["send", served.url, "Hello.", "--login", robot.clientId, "--trust", provider.origin], {
      env,
    });
    expect(run).toEqual({ code: 0, stdout: `Hello ${provider.origin}#robot with read\n`, stderr: "" });
  });

  it("--login refuses options that contradict each other", async () => {
    const run = await trivium(["send", agent.url, "x", "--scope", "read"], { env: await home() });
    expect([run.code, run.stderr.split("\n", 1)[0]]).toEqual([2, "error: --scope belongs to --login"]);
  });

  it("--login answers no request that is not the answer to its own", async () => {
    const child = startTrivium([...send(agent.url), "--no-browser"], await home());
    const page = await pageOf(child);
    const callback = new URL(page.searchParams.get("redirect_uri") ?? "");
    for (const query of ["", "?code=x", "?code=x&state=wrong", "?error=access_denied"]) {
      expect((await fetch(callback.href + query)).status).toBe(404);
    }
    const state = page.searchParams.get("state");
    // A code of the right state that the server does not know, under the name of another server.
    const mixed = new URLSearchParams({ code: "x", state: state ?? "", iss: "https://evil.example" });
    expect((await fetch(`${callback.href}?${mixed}`)).status).toBe(200);
    let stderr = "";
    for await (const piece of child.stderr) stderr += String(piece);
    expect(stderr).toContain(`the answer of the authorization endpoint ${provider.origin}/auth is for another request`);
  });

  // Its token would expire before it is used where other cases take the time.
  it("--login renews a token that has expired, without the user", { concurrent: false }, async () => {
    await using brief = await identityProvider({ lifetimeSeconds: 1 });
    await using served = await weather(brief.origin);
    const env = await home();
    const args = ["send", served.url, "Hello.", "--login", person.clientId, "--trust", brief.origin];
    expect((await trivium(args, { env })).stderr).toContain("Sign in to use");
    const { tokens } = JSON.parse(await readFile(env.TRIVIUM_LOGINS, "utf8"))[0];
    await expect.poll(() => Date.now() > tokens.staleAt).toBe(true);
    expect(await triviumAlone(args, { env })).toMatchObject({ code: 0, stderr: "" });
    expect(brief.paths.filter((path) => path === "/token")).toHaveLength(2);
  });
});

describe("a task that needs an authorization", () => {
  it("a task that needs an authorization shows the page, opens it, and prints the answer that follows", async () => {
    await using page = await serveHttp(
      createServer((request, response) => {
        void calendar.tasks.wake(request.url?.slice(1) ?? "");
        response.end("granted");
      }),
    );
    await using calendar = await serve({
      card,
      port: 0,
      logger: false,
      async *agent({ authorize, taskId }) {
        await authorize({
          url: `${page.url}/${taskId}`,
          userCode: "WDJB-MJHT",
          text: "I need your calendar.\u001b[2J",
        });
        yield artifact("Tuesday is free");
      },
    });
    const args = ["send", calendar.url, "When am I free?", "--trust", page.url];
    const run = await trivium(args, { env: await home() });
    expect([run.code, run.stdout]).toEqual([0, "Tuesday is free\n"]);
    expect(run.stderr).toMatch(
      /^The agent asks for an authorization: I need your calendar.\\u001b\[2J The code is WDJB-MJHT.\nOpened in your browser: http/,
    );
  });
});
