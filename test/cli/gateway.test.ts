import { once } from "node:events";
import { createServer, type Server as TcpServer } from "node:net";
import { A2AError, artifact, type Server, serve } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTrivium, trivium } from "../support/command.js";
import { createFaultProxy } from "../support/fault-proxy.js";
import { httpLine } from "../support/raw-http.js";

let behind: Server;
const tokens: (string | undefined)[] = [];
beforeAll(async () => {
  behind = await serve({
    card: { name: "Behind", description: "Repeats", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    bindings: ["JSONRPC"],
    versions: ["0.3"],
    authenticate(caller) {
      tokens.push(caller.header("authorization"));
      if (caller.header("authorization") === "Bearer wrong") throw new A2AError("unauthenticated", "not this one");
      return { owner: "somebody" };
    },
    async *agent({ text }) {
      yield artifact(text);
    },
  });
});
afterAll(() => behind.close());

/** Starts a gateway in its own process and waits until it prints its URL. */
async function startGateway(args: readonly string[] = [], upstream = behind.url, onLog = async () => {}) {
  const child = startTrivium(["gateway", upstream, "--port", "0", ...args]);
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
    void onLog();
  });
  child.stdin.end();
  const [line] = await Promise.race([once(child.stdout, "data"), once(child, "close")]);
  const greeting = String(line);
  const url = /http:\S+/.exec(greeting)?.[0] ?? `it did not start: ${errors}`;
  return {
    greeting,
    url,
    log: () => errors,
    async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
      child.kill(signal);
      const [code] = child.exitCode === null ? await once(child, "close") : [child.exitCode];
      return code as number | null;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "close");
    },
  };
}

const message = '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"ahoy"}]}}';

describe.concurrent("trivium gateway", () => {
  it("trivium gateway logs each call that has ended with --access-log", async () => {
    await using gateway = await startGateway(["--access-log"]);
    const { code } = await trivium(["call", gateway.url, "SendMessage", message]);
    expect(code).toBe(0);
    expect(await gateway.stop()).toBe(0);
    const records = gateway
      .log()
      .trimEnd()
      .split("\n")
      .map((line): Record<string, unknown> => JSON.parse(line));
    const call = { operation: "SendMessage", binding: "JSONRPC", owner: "anonymous", code: "OK" };
    expect(records).toContainEqual(expect.objectContaining({ level: 30, msg: "call", ...call }));
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "trivium gateway prints its own URL and the agent's, forwards calls, and ends with %s",
    async (signal) => {
      await using started = await startGateway();
      expect(started.greeting).toBe(
        `gateway at ${started.url} for ${behind.url}, over JSONRPC 0.3 at ${behind.url}/json-rpc\n`,
      );
      const { code, stdout } = await trivium(["call", started.url, "SendMessage", message, "--binding", "GRPC"]);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ task: { artifacts: [{ parts: [{ text: "ahoy" }] }] } });
      expect(await started.stop(signal)).toBe(0);
    },
  );

  it("trivium gateway serves the versions that are named, under the address that is named", async () => {
    await using started = await startGateway(["--protocol-version", "1.0", "--public-url", "https://front.example/x"]);
    const { stdout } = await trivium(["card", `${started.url}`]);
    const { supportedInterfaces } = JSON.parse(stdout) as { supportedInterfaces: Record<string, string>[] };
    expect(new Set(supportedInterfaces.map((each) => each["protocolVersion"]))).toEqual(new Set(["1.0"]));
    expect(supportedInterfaces[0]?.["url"]).toBe("https://front.example/x/json-rpc");
  });

  it("trivium gateway answers no page of a foreign host, and the hosts that are allowed", async () => {
    await using started = await startGateway(["--allowed-host", "front.example", "--allowed-host", "*.mesh.example"]);
    using line = httpLine(Number(new URL(started.url).port));
    const statuses = ["attacker.example", "front.example", "a.mesh.example"].map(async (host) => {
      const headers = { Host: host };
      return (await line.ask({ method: "GET", target: "/.well-known/agent-card.json", headers })).status;
    });
    expect(await Promise.all(statuses)).toEqual([421, 200, 200]);
  });

  it("trivium gateway waits for an agent that starts later, and says so", async () => {
    const target = { port: Number(new URL(behind.url).port) };
    await using proxy = await createFaultProxy({ target, schedule: [{ kind: "refuse" }] });
    await using gateway = await startGateway([], proxy.url(), () => proxy.setSchedule([{ kind: "pass" }]));
    expect(gateway.greeting).toContain("gateway at");
    expect(gateway.log()).toMatch(/^waiting for the agent: cannot reach .*ECONNREFUSED.*\n/);
  });

  it("trivium gateway exits with 1 and a message when no agent answers", async () => {
    const vacant: TcpServer = createServer();
    await new Promise<void>((resolve) => vacant.listen(0, "127.0.0.1", resolve));
    const { port } = vacant.address() as { readonly port: number };
    await new Promise((resolve) => vacant.close(resolve));
    const { code, stdout, stderr } = await trivium([
      "gateway",
      `http://127.0.0.1:${port}`,
      "--port",
      "0",
      "--timeout",
      "300",
    ]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^unavailable: cannot reach http://127.0.0.1:${port}/`));
  });

  it("trivium gateway ends with 1 and a sentence when its port is taken", async () => {
    const { port } = behind;
    const { code, stderr } = await trivium(["gateway", behind.url, "--port", String(port)]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`error: port ${port} on 127.0.0.1 is taken`)]);
  });

  it("trivium gateway listens on other interfaces only when callers are configured to share tasks", async () => {
    const { code, stderr } = await trivium(["gateway", behind.url, "--port", "0", "--host", "0.0.0.0"]);
    expect([code, stderr]).toEqual([
      1,
      "error: other machines can reach host 0.0.0.0: pass --anonymous to let all callers share all tasks\n",
    ]);
    await using open = await startGateway(["--host", "0.0.0.0", "--anonymous"]);
    expect((await fetch(`${open.url}/healthz`)).status).toBe(200);
  });

  it.each([
    { args: [], reason: "missing required argument 'url'" },
    { args: ["nowhere"], reason: "nowhere is not an http(s) URL" },
    { args: ["http://127.0.0.1", "--port", "70000"], reason: "A port is a number from 0 to 65535." },
    { args: ["http://127.0.0.1", "--protocol-version", "7"], reason: "The versions are 1.0, 0.3, 0.2, 0.1." },
    { args: ["http://127.0.0.1", "--allowed-host", "a.example:80"], reason: "It takes a host name without a port" },
    { args: ["http://127.0.0.1", "--header", "no"], reason: "It takes name:value." },
    {
      args: ["http://127.0.0.1", "--forward-header", "host"],
      reason: "host belongs to the call of the gateway itself",
    },
  ])("trivium gateway prints its usage on stderr for an invalid command line: $args", async ({ args, reason }) => {
    const { code, stdout, stderr } = await trivium(["gateway", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(reason);
    expect(stderr).toContain("Usage: trivium gateway");
  });

  // The agent sees the calls of all gateways.
  it("trivium gateway sends the agent its own token, or its callers' if they are to be forwarded", {
    concurrent: false,
  }, async () => {
    const missing = ["GetTask", '{"id":"nowhere"}'];
    await using own = await startGateway(["--bearer", "mine"]);
    tokens.length = 0;
    expect((await trivium(["call", own.url, ...missing, "--bearer", "ada"])).stderr).toContain("taskNotFound");
    expect(tokens).toEqual(["Bearer mine"]);
    await using passing = await startGateway(["--forward-header", "Authorization", "--forward-header", "X-Other"]);
    tokens.length = 0;
    await trivium(["call", passing.url, ...missing, "--bearer", "ada"]);
    expect(new Set(tokens)).toEqual(new Set(["Bearer ada"]));
    const { code, stderr } = await trivium(["call", passing.url, ...missing, "--bearer", "wrong"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("unauthenticated: not this one")]);
  });
});
