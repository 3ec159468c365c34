import { serve } from "trivium";
import { describe, expect, it } from "vitest";
import { trivium, triviumAlone } from "../support/command.js";

const card = { name: "Carded", description: "Has a card", version: "1" };
const agent = async (): Promise<void> => {};

describe("trivium card", () => {
  it.each([
    ["every version", undefined],
    ["1.0 alone", ["1.0"]],
  ] as const)("prints the card of an agent of %s, given its base or the card itself", async (_, versions) => {
    await using server = await serve({ card, agent, port: 0, drainMs: 0, versions });
    for (const url of [server.url, `${server.url}/.well-known/agent-card.json`]) {
      const { code, stdout, stderr } = await trivium(["card", url]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const headers = { "A2A-Version": "1.0" };
      const response = await fetch(`${server.url}/.well-known/agent-card.json`, { headers });
      expect(JSON.parse(stdout)).toEqual(await response.json());
    }
  });

  it.each(["0.3", "0.2", "0.1"] as const)("prints the card of an agent of %s in the form of 1.0", async (version) => {
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
  });

  it("prints the extended card to an authenticated caller", async () => {
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

  it("prints the URLs it tried when there is no card", async () => {
    const { code, stdout, stderr } = await trivium(["card", "http://127.0.0.1:1"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      /^unavailable: cannot reach http:\/\/127\.0\.0\.1:1\/\.well-known\/agent-card\.json: connect ECONNREFUSED/,
    );
  });
});
