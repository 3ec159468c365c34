import { completed, serve } from "trivium";
import { describe, expect, it } from "vitest";
import { trivium } from "../support/command.js";

const card = { name: "Called", description: "Is called", version: "1" };
const agent = async () => completed();
const request = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] } });

describe("trivium call --protocol-version", () => {
  it.each(["1.0", "0.3", "0.2", "0.1"])(
    "trivium call --protocol-version speaks %s to an agent that speaks it among others",
    async (version) => {
      await using server = await serve({ card, agent, port: 0, drainMs: 0 });
      const flags = ["--verbose", "--protocol-version", version];
      const { code, stdout, stderr } = await trivium(["call", server.url, "SendMessage", request, ...flags]);
      expect(stderr).toContain(`using JSONRPC ${version} at ${server.url}/json-rpc\n`);
      expect(JSON.parse(stdout)).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
      expect(code).toBe(0);
    },
  );

  it("trivium call --protocol-version sets the version of an interface given by its address", async () => {
    await using server = await serve({ card, agent, port: 0, drainMs: 0, versions: ["0.3"] });
    for (const [path, binding] of [
      ["/json-rpc", "JSONRPC"],
      ["/http-json", "HTTP+JSON"],
    ] as const) {
      const flags = ["--verbose", "--protocol-version", "0.3"];
      const { stdout, stderr } = await trivium(["call", server.url + path, "SendMessage", request, ...flags]);
      expect(stderr).toBe(`using ${binding} 0.3 at ${server.url}${path}\n`);
      expect(JSON.parse(stdout)).toMatchObject({ task: { status: { state: "TASK_STATE_COMPLETED" } } });
    }
  });

  it("trivium call --protocol-version speaks no other version, and calls no agent without it", async () => {
    await using server = await serve({ card, agent, port: 0, drainMs: 0, versions: ["0.3"] });
    const result = await trivium(["call", server.url, "SendMessage", request, "--protocol-version", "1.0"]);
    expect(result).toMatchObject({ code: 1, stdout: "" });
    expect(result.stderr).toContain("the option `versions` excludes the version");
  });

  it("trivium call --protocol-version takes a version that there is", async () => {
    const { code, stderr } = await trivium(["call", "http://127.0.0.1:1", "GetTask", "--protocol-version", "0.4"]);
    expect(code).not.toBe(0);
    expect(stderr).toContain("Allowed choices are 1.0, 0.3, 0.2, 0.1");
  });
});
