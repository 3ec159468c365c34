import { request } from "node:http";
import { type Agent, artifact, Client, type ServeAgentsOptions, serve } from "trivium";
import { apiKey } from "trivium/auth";
import { describe, expect, it } from "vitest";
import { trivium } from "../../support/command.js";

const agent: Agent = async function* ({ text }) {
  yield artifact(text);
};

const one = (name: string, more: object = {}) => ({
  card: { name, description: `The <b>${name}</b>`, version: "1.0.0" },
  agent,
  ...more,
});

const keyed = (wanted: string) => ({
  schemes: { key: apiKey({ in: "header", name: "x-key", verify: (key) => (key === wanted ? key : undefined) }) },
});

/** The status of a request that names another host. */
function statusAt(port: number, path: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const clientRequest = request({ host: "127.0.0.1", port, path, headers: { host }, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    clientRequest.on("error", reject).end();
  });
}

function serveAll(options: Partial<ServeAgentsOptions> = {}) {
  const agents = {
    "/open": one("Open", { anonymous: "shared" }),
    "/users": one("Users"),
    "/own": one("Own", { auth: keyed("b") }),
  };
  return serve({ port: 0, drainMs: 0, logger: false, catalogue: true, auth: keyed("a"), agents, ...options });
}

describe("the list of the agents", () => {
  it("the list of the agents has those that let its caller in", async () => {
    await using server = await serveAll();
    const names = async (key?: string) => {
      const response = await fetch(`${server.url}/.well-known/agents`, {
        headers: key === undefined ? {} : { "x-key": key },
      });
      expect(response.headers.get("cache-control")).toBe("private, no-cache");
      return ((await response.json()) as { agents: { name: string }[] }).agents.map(({ name }) => name);
    };
    expect(await names()).toEqual(["Open"]);
    expect(await names("a")).toEqual(["Open", "Users"]);
    expect(await names("b")).toEqual(["Open", "Own"]);
    await server.agents.set("/late", one("Late"));
    await server.agents.remove("/open", 0);
    expect(await names("a")).toEqual(["Users", "Late"]);
  });

  it("the list of the agents is not sent again while it has not changed", async () => {
    await using server = await serveAll({ auth: undefined, agents: { "/a": one("A"), "/b": one("B") } });
    const ask = (headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${server.url}/.well-known/agents`, { headers });
    const first = await ask();
    const etag = first.headers.get("etag") ?? "";
    expect(first.headers.get("cache-control")).toBe("public, max-age=10");
    expect(first.headers.get("vary")).toBe("Accept");
    const again = await ask({ "if-none-match": etag });
    expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, etag, ""]);
    const page = await ask({ accept: "text/html", "if-none-match": etag });
    expect(page.status).toBe(200);
    await server.agents.set("/b", one("C"));
    const changed = await ask({ "if-none-match": etag });
    expect(await changed.json()).toMatchObject({ agents: [{ name: "A" }, { name: "C" }] });
    expect(changed.headers.get("etag")).not.toBe(etag);
  });

  it("the list of the agents differs for callers that see different agents", async () => {
    await using server = await serveAll();
    const ask = (headers: Readonly<Record<string, string>>) => fetch(`${server.url}/.well-known/agents`, { headers });
    const etag = (await ask({ "x-key": "a" })).headers.get("etag") ?? "";
    expect((await ask({ "x-key": "a", "if-none-match": etag })).status).toBe(304);
    const other = await ask({ "x-key": "b", "if-none-match": etag });
    expect(await other.json()).toMatchObject({ agents: [{ name: "Open" }, { name: "Own" }] });
  });

  it("requests for the list of the agents count as requests of their address, as calls do", async () => {
    await using server = await serveAll({
      auth: undefined,
      agents: { "/a": one("A") },
      // A minute might end in between: windows begin by the clock.
      rate: { address: { requests: "5/day" } },
    });
    const ask = () => fetch(`${server.url}/.well-known/agents`);
    await using client = await Client.connect(`${server.url}/a`, { retry: false, cardCache: false });
    expect((await client.send("hi")).text).toBe("hi");
    for (let count = 0; count < 4; count++) expect((await ask()).status).toBe(200);
    const refused = await ask();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused.headers.get("ratelimit")).toContain("r=0");
    expect(await refused.text()).toContain("the limit is 5/day (server.rate.address.requests)");
    await expect(client.send("hi")).rejects.toMatchObject({ code: "resourceExhausted" });
  });

  it("the list of the agents leads to their cards, by the address that was called", async () => {
    await using server = await serveAll({ basePath: "/api" });
    const response = await fetch(`http://localhost:${server.port}/api/.well-known/agents`);
    const url = `http://localhost:${server.port}/api/open`;
    expect(await response.json()).toEqual({
      agents: [
        {
          path: "/open",
          name: "Open",
          description: "The <b>Open</b>",
          version: "1.0.0",
          url,
          card: `${url}/.well-known/agent-card.json`,
        },
      ],
    });
    expect(await (await fetch(`${url}/.well-known/agent-card.json`)).json()).toMatchObject({ name: "Open" });
  });

  it("the list of the agents is a page for browsers, which shows texts as they are", async () => {
    await using server = await serveAll();
    const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    const response = await fetch(`${server.url}/.well-known/agents`, { headers: { accept } });
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    const page = await response.text();
    expect(page).toContain("The &lt;b&gt;Open&lt;/b&gt;");
    expect(page).toContain(`href="${server.url}/open/.well-known/agent-card.json"`);
  });

  it("the list of the agents is only read, off by default, and guarded on a loopback address", async () => {
    await using server = await serveAll();
    expect((await fetch(`${server.url}/.well-known/agents`, { method: "POST" })).status).toBe(405);
    expect((await fetch(`${server.url}/.well-known/agents`, { method: "HEAD" })).status).toBe(200);
    await using off = await serveAll({ catalogue: undefined });
    expect((await fetch(`${off.url}/.well-known/agents`)).status).toBe(404);
    await using open = await serveAll({ auth: undefined });
    for (const path of ["/.well-known/agents", "/users/.well-known/agent-card.json", "/nothing"]) {
      expect(await statusAt(open.port, path, "evil.example")).toBe(421);
    }
    expect(await statusAt(open.port, "/own/.well-known/agent-card.json", "proxied.example")).toBe(200);
    expect(await statusAt(open.port, "/healthz", "proxied.example")).toBe(200);
  });

  it("the list of the agents gives `trivium card --all` every card", async () => {
    await using server = await serveAll();
    const names = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await trivium(["card", server.url, "--all", ...args]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name);
    };
    expect(await names()).toEqual(["Open"]);
    expect(await names("--header", "x-key:a")).toEqual(["Open", "Users"]);
    await using off = await serveAll({ catalogue: undefined });
    const { code, stderr } = await trivium(["card", off.url, "--all"]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `unavailable: ${off.url}/.well-known/agents answered with HTTP status 404: a server lists its agents with \`catalogue: true\`\n`,
    });
  });
});
