import { completed, type ServeAgentsOptions, type ServeOptions, serve } from "trivium";
import { describe, expect, it } from "vitest";
import { serveContradictions } from "../../src/server/option-rules.js";

const card = { name: "Contradicting", description: "Has options that contradict each other", version: "1" };
const agent = async () => completed();
const start = (options: Partial<ServeOptions>) => serve({ card, agent, logger: false, ...options });
const startAgents = (options: Partial<ServeAgentsOptions>) =>
  serve({ agents: { "/weather": { card, agent } }, port: 0, logger: false, ...options });

const cases: readonly (readonly [Partial<ServeOptions>, string])[] = [
  [
    { port: 41_241, grpcPort: 41_241 },
    "grpcPort and port are both 41241: leave grpcPort out, and gRPC shares the port",
  ],
  [
    { port: 41_241, telemetry: { metrics: { port: 41_241 } } },
    "telemetry.metrics.port and port are both 41241: give metrics another port",
  ],
  [
    { port: 0, grpcPort: 41_241, host: "127.0.0.1", telemetry: { metrics: { port: 41_241 } } },
    "telemetry.metrics.port and grpcPort are both 41241: give metrics another port",
  ],
];

describe("options of serve() that contradict each other", () => {
  it("each contradiction between options of serve() has a case", () => {
    expect(cases.length).toBe(serveContradictions.length);
  });

  it.each(cases)(
    "contradicting options of serve() are refused before it listens, with the value and the remedy: %j",
    async (options, text) => {
      await expect(start(options)).rejects.toThrow(new TypeError(`serve(): ${text}`));
      await expect(startAgents(options)).rejects.toThrow(new TypeError(`serve(): ${text}`));
    },
  );

  it("free ports that differ once they are chosen do not contradict each other", async () => {
    await using server = await start({ port: 0, grpcPort: 0 });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });
});

it("a server that would never refuse work when it closes is refused at the start", async () => {
  await expect(start({ lameDuckMs: Number.POSITIVE_INFINITY })).rejects.toThrow(
    "lameDuckMs must be a number of milliseconds, not Infinity: the server would never close",
  );
});

describe("limits of an agent", () => {
  const limits = { storeWaitMs: 20_000 };
  const text = 'agents["/weather"].limits.storeWaitMs (20000) is above instanceTtlMs (15000)';

  it("limits of an agent that contradict its server's are refused with both values, defaults included", async () => {
    await expect(startAgents({ agents: { "/weather": { card, agent, limits } } })).rejects.toThrow(text);
    await using server = await startAgents({});
    await expect(server.agents.set("/weather", { card, agent, limits })).rejects.toThrow(text);
  });

  it("limits of an agent are taken where those of its server agree", async () => {
    const agents = { "/weather": { card, agent, limits } };
    await using server = await startAgents({ agents, limits: { instanceTtlMs: 30_000 } });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });
});
