import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { oldJs } from "./old-js-and-go.js";
import { type RunningAgent, startAgent } from "./sdk-agents.js";

const sdk = oldJs.find(({ name }) => name.startsWith("a2a-js "));
// In CI a missing SDK is a failure instead of a skip.
const isReady = sdk?.agent.installed === true || process.env["CI"] !== undefined;

describe.skipIf(!isReady)("an agent on a2a-js whose card leaves open which version it speaks", () => {
  let agent: RunningAgent;
  let card: Record<string, string>;

  beforeAll(async () => {
    if (sdk === undefined) throw new Error("the SDK is not in the table");
    agent = await startAgent(sdk.agent);
    const response = await fetch(`${agent.url}/.well-known/agent.json`);
    card = (await response.json()) as Record<string, string>;
    delete card["authentication"];
  });

  afterAll(() => agent?.[Symbol.asyncDispose]());

  it("an agent on a2a-js is sent each message once, in its own version", async () => {
    await using client = await Client.connect(card);
    for (const _ of [1, 2]) expect(await client.send("task")).toMatchObject({ state: "completed" });
    expect(client.connection?.version).toBe("0.1");
  });

  it("an agent on a2a-js is subscribed to before anything else was asked of it", async () => {
    await using starter = await Client.connect(card);
    const first = starter.stream("stream 30 10")[Symbol.asyncIterator]();
    const step = await first.next();
    const payload = step.done === true ? undefined : step.value.response.payload;
    if (payload?.case !== "task") throw new Error(`a task was wanted, not ${payload?.case}`);
    const reading = (async () => {
      while ((await first.next()).done !== true);
    })();
    await using client = await Client.connect(card, { limits: { pollMs: 50 } });
    const { artifacts } = await client.watch(payload.value.id, { timeoutMs: 20_000 }).answer;
    await reading;
    expect(artifacts.map(({ text }) => text).join("")).toBe(
      Array.from({ length: 30 }, (_, index) => `${index},`).join(""),
    );
    expect(client.connection?.version).toBe("0.1");
  });
});
