import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { shell, startDemo, trivium } from "../support/command.js";
import { httpLine } from "../support/raw-http.js";

interface Listed {
  readonly url: string;
  readonly protocolBinding: string;
  readonly protocolVersion: string;
}

describe.concurrent("trivium demo", () => {
  it("trivium demo prints the URLs of its card and its interfaces, as in the card", async () => {
    await using demo = await startDemo();
    const response = await fetch(`${demo.url}/.well-known/agent-card.json`);
    const card = (await response.json()) as { supportedInterfaces: Listed[] };
    // The same URLs answer older versions too.
    const newest = card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === "1.0");
    expect(demo.greeting).toContain(`${demo.url}/.well-known/agent-card.json\n`);
    expect(newest.map((each) => each.protocolBinding)).toEqual(["JSONRPC", "GRPC", "HTTP+JSON"]);
    expect(demo.greeting.split(newest[0]?.url ?? "")).toHaveLength(3);
    for (const { url, protocolBinding } of newest) {
      expect(demo.greeting).toMatch(new RegExp(`^ *${protocolBinding.replace("+", "\\+")} +${url}$`, "m"));
    }
  });

  it("trivium demo prints commands that work as printed, and send a new message each time they are run", async () => {
    await using demo = await startDemo();
    const cache = mkdtempSync(join(tmpdir(), "trivium-npm-"));
    const commands = demo.greeting.match(/^ +(?:curl|npx) .*$/gm) ?? [];
    expect(commands.map((command) => command.trim().split(" ")[0])).toEqual(["curl", "npx", "curl"]);
    const tasks: (string | undefined)[] = [];
    const messages: (string | undefined)[] = [];
    const run = async (command: string): Promise<void> => {
      // An own cache, since npx keeps a link to the folder it ran in. Nothing has to be downloaded.
      const env = { npm_config_cache: cache, npm_config_offline: "true" };
      const { code, stdout, stderr } = await shell(command, env);
      expect({ command, code, stderr: code === 0 ? "" : stderr }).toEqual({ command, code: 0, stderr: "" });
      expect(stdout).toContain("# Text analysis");
      expect(stdout).toContain("TASK_STATE_COMPLETED");
      tasks.push(/"task":\{"id":"([^"]+)"/.exec(stdout)?.[1]);
      messages.push(/"messageId":"([^"]+)"/.exec(stdout)?.[1]);
    };
    try {
      for (const round of [commands, commands]) await Promise.all(round.map(run));
    } finally {
      rmSync(cache, { recursive: true });
    }
    for (const ids of [tasks, messages]) {
      expect(ids).toHaveLength(6);
      expect(ids).not.toContain(undefined);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });

  it.each(["SIGTERM", "SIGINT"] as const)("trivium demo closes on %s and exits with 0", async (signal) => {
    await using demo = await startDemo();
    expect(await demo.stop(signal)).toBe(0);
    expect(demo.log()).toContain('"closing"');
    await expect(fetch(demo.url)).rejects.toThrow();
  });

  it("trivium demo closes while a task waits for input and has a subscriber", async () => {
    await using demo = await startDemo();
    const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: " " }] };
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ message });
    const response = await fetch(`${demo.url}/http-json/message:send`, { method: "POST", headers, body });
    const { task } = (await response.json()) as { readonly task: { readonly id: string } };
    const subscribed = await fetch(`${demo.url}/http-json/tasks/${task.id}:subscribe`);
    const reader = subscribed.body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain("TASK_STATE_INPUT_REQUIRED");
    expect(await demo.stop()).toBe(0);
  });

  it("trivium demo takes the port and the level of its log from the environment", async () => {
    await using demo = await startDemo([], { PORT: "0", TRIVIUM_LOG: "silent" });
    expect(demo.port).toBeGreaterThan(0);
    expect(await demo.stop()).toBe(0);
    expect(demo.log()).toBe("");
  });

  it("trivium demo logs where it listens, and each call that has ended with --access-log", async () => {
    await using demo = await startDemo(["--port", "0", "--access-log"]);
    await fetch(`${demo.url}/http-json/tasks/none`);
    expect(await demo.stop()).toBe(0);
    const records = demo
      .log()
      .trimEnd()
      .split("\n")
      .map((line): Record<string, unknown> => JSON.parse(line));
    expect(records).toContainEqual(
      expect.objectContaining({ msg: "listening", url: demo.url, bindings: ["JSONRPC", "GRPC", "HTTP+JSON"] }),
    );
    expect(records.filter(({ msg }) => msg === "call")).toEqual([
      expect.objectContaining({ operation: "GetTask", binding: "HTTP+JSON", version: "1.0", code: "taskNotFound" }),
    ]);
  });

  it("trivium demo reports in one sentence that the port is taken", async () => {
    const occupant = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => occupant.once("listening", resolve));
    const { port } = occupant.address() as { readonly port: number };
    const { code, stdout, stderr } = await trivium(["demo", "--port", String(port), "--log-level", "silent"]);
    occupant.close();
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(`error: port ${port} on 127.0.0.1 is in use: choose another one with --port\n`);
  });

  it("trivium demo listens on other interfaces only when callers are configured to share tasks", async () => {
    const args = ["--host", "0.0.0.0", "--port", "0"];
    expect(await trivium(["demo", ...args])).toEqual({
      code: 1,
      stdout: "",
      stderr: "error: other machines can reach host 0.0.0.0: pass --anonymous to let all callers share all tasks\n",
    });
    await using demo = await startDemo([...args, "--anonymous"]);
    expect((await fetch(`${demo.url}/healthz`)).status).toBe(200);
  });

  it("trivium demo answers no page of a foreign host, and the hosts that are allowed", async () => {
    await using demo = await startDemo(["--port", "0", "--allowed-host", "agents.example"]);
    using line = httpLine(demo.port);
    const statuses = ["attacker.example", "agents.example"].map(async (host) => {
      const headers = { Host: host };
      return (await line.ask({ method: "GET", target: "/.well-known/agent-card.json", headers })).status;
    });
    expect(await Promise.all(statuses)).toEqual([421, 200]);
  });

  it("trivium demo reports in one sentence that it cannot listen on a host", async () => {
    const { code, stderr } = await trivium(["demo", "--host", "127.0.0.1.invalid", "--anonymous", "--port", "0"], {
      env: { TRIVIUM_LOG: "silent" },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: .*127\.0\.0\.1\.invalid\n$/);
  });
});
