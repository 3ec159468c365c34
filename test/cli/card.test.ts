import { serve } from "trivium";
import { describe, expect, it } from "vitest";
import { httpPeer } from "../binding/http-peer.js";
import { cardOf } from "../client/support/cards.js";
import { trivium, triviumAlone } from "../support/command.js";

const card = { name: "Carded", description: "Has a card", version: "1" };
const agent = async (): Promise<void> => {};

describe("trivium card", () => {
  it.each([
    ["every version", undefined],
    ["1.0 alone", ["1.0"]],
  ] as const)(
    "trivium card prints the card of an agent of %s, given its base or the card itself",
    async (_, versions) => {
      await using server = await serve({ card, agent, port: 0, drainMs: 0, versions });
      for (const url of [server.url, `${server.url}/.well-known/agent-card.json`]) {
        const { code, stdout, stderr } = await trivium(["card", url]);
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        const headers = { "A2A-Version": "1.0" };
        const response = await fetch(`${server.url}/.well-known/agent-card.json`, { headers });
        expect(JSON.parse(stdout)).toEqual(await response.json());
      }
    },
  );

  it.each(["0.3", "0.2", "0.1"] as const)(
    "trivium card prints the card of an agent of %s in the form of 1.0",
    async (version) => {
      await using server = await serve({ card, agent, port: 0, drainMs: 0, versions: [version] });
      const { code, stdout, stderr } = await triviumAlone(["card", server.url]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const url = `${server.url}/json-rpc`;
      expect(JSON.parse(stdout).supportedInterfaces).toContainEqual({
        url,
        protocolBinding: "JSONRPC",
        protocolVersion: version,
      });
      expect(JSON.parse(stdout)).not.toHaveProperty("preferredTransport");
    },
  );

  it("trivium card prints the extended card to an authenticated caller", async () => {
    await using server = await serve({
      card: { ...card, extended: ({ owner }) => ({ name: `Carded for ${owner}` }) },
      agent,
      port: 0,
      drainMs: 0,
      authenticate: ({ header }) => ({ owner: header("authorization") ?? "nobody" }),
    });
    expect((await trivium(["card", server.url])).stdout).toContain('"Carded"');
    expect((await trivium(["card", server.url, "--bearer", "t0"])).stdout).toContain('"Carded for Bearer t0"');
  });

  it("trivium card prints the URLs it tried when there is no card", async () => {
    const { code, stdout, stderr } = await trivium(["card", "http://127.0.0.1:1", "--timeout", "100"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      /^unavailable: cannot reach http:\/\/127\.0\.0\.1:1\/\.well-known\/agent-card\.json: connect ECONNREFUSED/,
    );
  });

  it("trivium card names the option that trusts an interface at another host", async () => {
    const supportedInterfaces = [{ url: "https://other.example/", protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
    const json = JSON.stringify(cardOf(supportedInterfaces));
    await using peer = await httpPeer((_, response) =>
      response.setHeader("content-type", "application/json").end(json),
    );
    const { code, stderr } = await trivium(["send", peer.url, "Hello.", "--bearer", "t0"]);
    expect(code).toBe(1);
    expect(stderr).toContain("secrets go to localhost only, unless trustedOrigins lists https://other.example");
    expect(stderr).toContain("\n  the option for trustedOrigins is --trust <origin>");
  });

  it("trivium card calls addresses of this network that a list names only if they are trusted", async () => {
    await using server = await serve({ card, agent, port: 0, drainMs: 0, allowedHosts: ["0.0.0.0"] });
    const other = `http://0.0.0.0:${server.port}`;
    const list = JSON.stringify({ agents: [{ card: `${other}/.well-known/agent-card.json` }] });
    await using peer = await httpPeer((_, response) =>
      response.setHeader("content-type", "application/json").end(list),
    );
    const refused = await trivium(["card", peer.url, "--all"]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("0.0.0.0");
    const trusted = await trivium(["card", peer.url, "--all", "--trust", other]);
    expect(JSON.parse(trusted.stdout)).toMatchObject([{ name: "Carded" }]);
  });

  it("trivium card says that a list names a card that is no URL", async () => {
    const list = JSON.stringify({ agents: [{ card: "/weather/card.json" }] });
    await using peer = await httpPeer((_, response) =>
      response.setHeader("content-type", "application/json").end(list),
    );
    const { code, stderr } = await trivium(["card", peer.url, "--all"]);
    expect(code).toBe(1);
    expect(stderr).toContain("/.well-known/agents lists a card that is not an absolute URL");
  });
});
