import { type Agent, artifact, Client, inputRequired, memoryTaskStore, type ServeAgentsOptions, serve } from "trivium";
import { apiKey } from "trivium/auth";
import { describe, expect, it } from "vitest";
import { bindingNames } from "../../../src/protocol/bindings.js";
import { startMetrics } from "../../support/metric-values.js";
import { recordingLogger } from "../../support/recording-logger.js";

const card = (name: string) => ({ name, description: `The agent ${name}`, version: "1.0.0" });

/** Answers with its name, the owner, the tenant and the text. */
const says = (name: string): Agent =>
  async function* ({ text, principal, tenant }) {
    yield artifact(`${name} ${principal.owner} ${tenant} ${text}`);
  };

const one = (name: string, more: object = {}) => ({ card: card(name), agent: says(name), ...more });

function serveAll(options: ServeAgentsOptions) {
  return serve({ port: 0, drainMs: 0, logger: false, ...options });
}

const keyed = (...keys: readonly string[]) => ({
  schemes: {
    key: apiKey({ in: "header", name: "x-key", verify: (key) => (keys.includes(key) ? key.slice(0, 5) : undefined) }),
  },
});

const versions = ["1.0", "0.3", "0.2", "0.1"] as const;

/** The bindings of a version by which an agent among several is reached. */
const reached = versions.flatMap((version) =>
  bindingNames
    .filter((binding) => version === "1.0" || binding === "JSONRPC" || (version === "0.3" && binding === "HTTP+JSON"))
    .map((binding) => [binding, version] as const),
);

describe.each(reached)("several agents over %s %s", (binding, version) => {
  it("several agents have a card each, answer each for itself, and do not see each other's tasks", async () => {
    const waits: Agent = async function* ({ ask }) {
      await ask(inputRequired("?"));
    };
    await using server = await serveAll({
      bindings: bindingNames,
      agents: { "/weather": one("weather"), "/travel": one("travel"), "/asks": { card: card("asks"), agent: waits } },
    });
    const connect = (path: string) =>
      Client.connect(`${server.url}${path}`, { prefer: [binding], versions: [version], cardCache: false });
    await using weather = await connect("/weather");
    await using travel = await connect("/travel");
    await using asks = await connect("/asks");
    expect([weather.card.name, travel.card.name]).toEqual(["weather", "travel"]);
    const [here, there] = await Promise.all([weather.send("hi"), travel.send("hi")]);
    expect([here.text, there.text]).toEqual(["weather anonymous  hi", "travel anonymous  hi"]);
    expect((await weather.stream("on").answer).text).toBe("weather anonymous  on");
    expect(weather.connection).toMatchObject({ binding, version });
    const waiting = await asks.send("go");
    expect(waiting.state).toBe("input-required");
    const id = waiting.taskId ?? "";
    for (const other of [weather, travel]) {
      await expect(other.getTask({ id })).rejects.toMatchObject({ code: "taskNotFound" });
      await expect(other.cancelTask({ id })).rejects.toMatchObject({ code: "taskNotFound" });
      // In 0.1 a message may name any task, which is then a new one of its agent.
      if (version === "0.1") continue;
      await expect(other.send("x", { continue: waiting })).rejects.toMatchObject({ code: "taskNotFound" });
    }
    expect((await asks.cancel(id)).state).toBe("canceled");
  });
});

describe("several agents on one port", () => {
  it("several agents list gRPC with their names as tenants, also before a tenant of the caller", async () => {
    await using server = await serveAll({
      auth: keyed("alice-1", "bobby-1"),
      agents: { "/weather": one("weather", { tenants: ["acme"] }), "/travel": one("travel") },
    });
    const response = await fetch(`${server.url}/weather/.well-known/agent-card.json`, {
      headers: { "A2A-Version": "1.0" },
    });
    const { supportedInterfaces } = (await response.json()) as { supportedInterfaces: { protocolBinding: string }[] };
    expect(supportedInterfaces.filter(({ protocolBinding }) => protocolBinding === "GRPC")).toEqual([
      { url: `127.0.0.1:${server.port}`, protocolBinding: "GRPC", protocolVersion: "1.0", tenant: "weather" },
    ]);
    const headers = { "x-key": "alice-1" };
    await using client = await Client.connect(`${server.url}/weather`, { prefer: ["GRPC"], headers, retry: false });
    expect((await client.send("hi")).text).toBe("weather key#alice  hi");
    expect((await client.send("hi", { tenant: "weather/acme" })).text).toBe("weather key#alice acme hi");
    await expect(client.send("hi", { tenant: "weather/none" })).rejects.toMatchObject({ code: "invalidParams" });
    await expect(client.send("hi", { tenant: "nowhere/acme" })).rejects.toMatchObject({
      code: "methodNotFound",
      message: "no agent at /nowhere: the tenant of a request begins with the agent's name",
    });
    expect((await client.send("hi", { tenant: "travel" })).text).toBe("travel key#alice  hi");
    await using stranger = await Client.connect(`${server.url}/weather`, { prefer: ["GRPC"], retry: false });
    await expect(stranger.send("hi")).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("several agents keep those with an authentication of their own to themselves", async () => {
    await using server = await serveAll({
      auth: keyed("alice-1"),
      agents: {
        "/weather": one("weather"),
        "/private": one("private", { auth: keyed("alice-2"), hosts: ["localhost"] }),
        "/hidden": one("hidden", { auth: keyed("alice-3") }),
      },
    });
    const grpcOf = async (path: string) => {
      const response = await fetch(`${server.url}${path}/.well-known/agent-card.json`, {
        headers: { "A2A-Version": "1.0" },
      });
      const card = (await response.json()) as { supportedInterfaces: { protocolBinding: string; url: string }[] };
      return card.supportedInterfaces.filter(({ protocolBinding }) => protocolBinding === "GRPC").map(({ url }) => url);
    };
    expect(await grpcOf("/hidden")).toEqual([]);
    expect(await grpcOf("/private")).toEqual([`localhost:${server.port}`, `localhost:${server.port}`]);
    const connect = (path: string, key: string, prefer: string) =>
      Client.connect(`${server.url}${path}`, {
        prefer: [prefer],
        headers: { "x-key": key },
        retry: false,
        allowPrivate: true,
      });
    for (const binding of bindingNames) {
      await using own = await connect("/private", "alice-2", binding);
      expect((await own.send("hi")).text).toBe("private key#alice  hi");
      await using wrong = await connect("/private", "alice-1", binding);
      await expect(wrong.send("hi")).rejects.toMatchObject({ code: "unauthenticated" });
    }
    // By the name of another agent, it is as if it were not there.
    await using weather = await connect("/weather", "alice-1", "GRPC");
    await weather.send("hi");
    for (const tenant of ["private", "hidden", "hidden/x"]) {
      await expect(weather.send("hi", { tenant })).rejects.toMatchObject({ code: "methodNotFound" });
    }
  });

  it("several agents answer 0.3 over gRPC at a host or a port of their own", async () => {
    await using server = await serveAll({
      agents: {
        "/weather": one("weather", { hosts: ["localhost"] }),
        "/travel": one("travel", { grpcPort: 0 }),
        "/both": one("both"),
      },
    });
    for (const [path, name] of [
      ["/weather", "weather"],
      ["/travel", "travel"],
    ] as const) {
      for (const version of ["1.0", "0.3"] as const) {
        await using client = await Client.connect(`${server.url}${path}`, {
          prefer: ["GRPC"],
          versions: [version],
          allowPrivate: true,
          retry: false,
        });
        expect((await client.send("hi")).text).toBe(`${name} anonymous  hi`);
        expect(client.connection).toMatchObject({ binding: "GRPC", version });
      }
    }
    // A host of its own serves that agent alone, at its root.
    const at = async (path: string) => (await fetch(`http://localhost:${server.port}${path}`)).status;
    expect(await at("/.well-known/agent-card.json")).toBe(200);
    expect(await at("/weather/.well-known/agent-card.json")).toBe(200);
    expect(await at("/travel/.well-known/agent-card.json")).toBe(404);
  });

  it("several agents may have one at the root, which gets the requests that name no other", async () => {
    await using server = await serveAll({
      agents: { "/": one("root"), "/weather": one("weather") },
    });
    for (const binding of bindingNames) {
      for (const [path, name] of [
        ["", "root"],
        ["/weather", "weather"],
      ] as const) {
        await using client = await Client.connect(`${server.url}${path}`, { prefer: [binding], cardCache: false });
        expect((await client.send("hi")).text).toBe(`${name} anonymous  hi`);
      }
    }
    await using old = await Client.connect(server.url, { prefer: ["GRPC"], versions: ["0.3"] });
    expect((await old.send("hi")).text).toBe("root anonymous  hi");
  });

  it("several agents are told apart below a base path and behind a public URL", async () => {
    await using server = await serveAll({ basePath: "/api", agents: { "/weather": one("weather") } });
    expect(server.url).toBe(`http://127.0.0.1:${server.port}/api`);
    await using client = await Client.connect(`${server.url}/weather`);
    expect((await client.send("hi")).text).toBe("weather anonymous  hi");
    expect(server.agents.get("/weather")?.url).toBe(`${server.url}/weather`);
    await using outside = await serveAll({
      publicUrl: "https://agents.example/x",
      agents: { "/weather": one("weather") },
    });
    expect(outside.agents.get("/weather")?.card.supportedInterfaces.map(({ url }) => url)).toEqual([
      "https://agents.example/x/weather/json-rpc",
      "agents.example:443",
      "https://agents.example/x/weather/http-json",
      "https://agents.example/x/weather/json-rpc",
      "https://agents.example/x/weather/http-json",
    ]);
  });

  it("several agents log and measure calls over gRPC that end before their agent is known", async () => {
    const { log, logger } = recordingLogger();
    await using metrics = startMetrics();
    await using server = await serveAll({
      ...{ logger, accessLog: true, auth: keyed("alice-1"), rate: { address: { requests: "3/day" } } },
      agents: { "/weather": one("weather") },
    });
    const connect = (key: string) =>
      Client.connect(`${server.url}/weather`, { prefer: ["GRPC"], headers: { "x-key": key }, retry: false });
    await using client = await connect("alice-1");
    await client.send("hi");
    await expect(client.send("hi", { tenant: "nowhere" })).rejects.toMatchObject({ code: "methodNotFound" });
    await using stranger = await connect("bob");
    await expect(stranger.send("hi")).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(client.send("hi")).rejects.toMatchObject({ code: "resourceExhausted" });
    const calls = log.filter(({ message }) => message === "call").map(({ fields }) => fields);
    expect(calls.slice(1)).toMatchObject([
      { binding: "GRPC", owner: "key#alice", code: "methodNotFound" },
      { binding: "GRPC", code: "unauthenticated" },
      { binding: "GRPC", code: "resourceExhausted" },
    ]);
    expect(calls.map((fields) => Object(fields).agent)).toEqual(["/weather", undefined, undefined, undefined]);
    const refused = await metrics.of("trivium.server.refused");
    expect(refused).toMatchObject([{ value: 1, attributes: { "trivium.limit": "server.rate.address.requests" } }]);
  });

  it("several agents log their path, and which interfaces are not in their cards", async () => {
    const { log, logger } = recordingLogger();
    await using server = await serveAll({
      logger,
      agents: { "/weather": one("weather"), "/own": one("own", { anonymous: "shared" }) },
    });
    expect(
      log.filter(({ message }) => message?.startsWith("an interface is not in the card")).map(({ fields }) => fields),
    ).toEqual([
      { agent: "/weather", binding: "GRPC", versions: ["0.3"] },
      { agent: "/own", binding: "GRPC", versions: ["1.0", "0.3"] },
    ]);
    expect(log.find(({ message }) => message === "listening")?.fields).toMatchObject({
      agents: ["/weather", "/own"],
      url: server.url,
    });
  });

  it("several agents are checked with their paths, and what contradicts itself is refused", async () => {
    const wrong = (options: object) => serveAll(options as ServeAgentsOptions);
    const agents = { "/a": one("a"), "/b": one("b") };
    await expect(wrong({ agents: { weather: one("x") } })).rejects.toThrow('must be "/", or "/" and one segment');
    await expect(wrong({ agents: { "/json-rpc": one("x") } })).rejects.toThrow("the server answers there itself");
    await expect(wrong({ agents, card: card("x") })).rejects.toThrow("each agent has its own: give it in `agents`");
    await expect(wrong({ agents: { "/a": one("a", { store: memoryTaskStore() }) } })).rejects.toThrow(
      'agents["/a"].store cannot be given: it is one for all agents: give the store beside `agents`',
    );
    await expect(wrong({ agents: { "/a": one("a", { limits: { heartbeatMs: 5 } }) } })).rejects.toThrow(
      'agents["/a"].limits.heartbeatMs is a limit of the whole server',
    );
    await expect(wrong({ agents: { "/a": one("a", { hosts: ["a:80"] }) } })).rejects.toThrow(
      "a host name without a port",
    );
    await expect(wrong({ agents: { "/a": one("a"), "/b": one("b", { agentId: "a" }) } })).rejects.toThrow(
      'the agent at /b has the agentId "a", which the agent at /a has: give each agent its own',
    );
    await expect(wrong({ agents, host: "0.0.0.0" })).rejects.toThrow("the agent at /a on host 0.0.0.0 can be reached");
    await expect(wrong({ agents: { "/a": { card: { name: "a" }, agent: says("a") } } })).rejects.toThrow(
      "card.description",
    );
  });
});
