import { artifact, serve } from "trivium";
import { expect, it } from "vitest";
import { settledHeap } from "../../support/heap.js";

const one = (name: string) => ({
  card: { name, description: `The agent ${name}`, version: "1.0.0" },
  agent: async function* ({ text }: { readonly text: string }) {
    yield artifact(text);
  },
});

it("each of twenty agents that have answered takes at most 3 MB", async () => {
  await using server = await serve({ port: 0, drainMs: 0, logger: false, agents: { "/first": one("first") } });
  const use = async (path: string): Promise<void> => {
    await (await fetch(`${server.url}${path}/.well-known/agent-card.json`)).arrayBuffer();
    expect((await server.client(path).send("hi")).text).toBe("hi");
  };
  await use("/first");
  const before = settledHeap();
  for (let number = 0; number < 20; number++) {
    await server.agents.set(`/agent-${number}`, one(`agent-${number}`));
    await use(`/agent-${number}`);
  }
  expect((settledHeap() - before) / 20).toBeLessThan(3 << 20);
});
