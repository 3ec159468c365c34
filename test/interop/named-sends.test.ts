import { type Gateway, gateway } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postJson } from "../support/http-agent.js";
import { oldPythons } from "./old-python.js";
import { type RunningAgent, startAgent } from "./sdk-agents.js";

// A caller of 0.1 names its task, and the Python SDK of 0.3 writes each chunk to the task once per reader.

// In CI a missing release is a failure instead of a skip.
const complete = process.env["CI"] !== undefined;

const agents = oldPythons.flatMap(({ name, version, installed, agent }) =>
  agent === undefined || version === "0.1" ? [] : [{ name, installed, agent }],
);

describe.each(agents)("a caller of 0.1 that names its tasks, in front of an agent on $name", ({ agent, installed }) => {
  if (!installed && !complete) {
    it.skip("is not installed: bash test/interop/python-old/setup.sh");
    return;
  }

  let behind: RunningAgent;
  let front: Gateway;

  beforeAll(async () => {
    behind = await startAgent(agent);
    front = await gateway({ upstream: behind.url, port: 0, anonymous: "shared", logger: false });
  });

  afterAll(async () => {
    await front?.close();
    await behind?.[Symbol.asyncDispose]();
  });

  it.each(["one", "two", "three", "four", "five", "six", "seven"])(
    "a caller of 0.1 that names its tasks gets the chunks of its task %s once, however slowly they come",
    async (id) => {
      const params = { id, message: { role: "user", parts: [{ type: "text", text: "stream 5 20" }] } };
      const { text } = await postJson(`${front.url}/json-rpc`, { jsonrpc: "2.0", id: 1, method: "tasks/send", params });
      const { result } = JSON.parse(text) as { readonly result: OldTask };
      const texts = result.artifacts?.flatMap(({ parts }) => parts.map((part) => part.text));
      expect([result.id, result.status.state, texts?.join("")]).toEqual([id, "completed", "0,1,2,3,4,"]);
    },
  );
});

interface OldTask {
  readonly id: string;
  readonly status: { readonly state: string };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text: string }[] }[];
}
