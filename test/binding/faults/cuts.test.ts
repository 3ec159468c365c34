import { describe, expect, it } from "vitest";
import { reading, sending, streaming } from "./operations.js";
import { cuts, type Swept, sweepCuts } from "./sweep.js";
import { bareWires, type Spoilable, spoilableAgent } from "./through-proxy.js";

const operations: Readonly<Record<string, (agent: Spoilable) => Swept<unknown> | Promise<Swept<unknown>>>> = {
  getTask: reading,
  sendMessage: sending,
  sendStreamingMessage: streaming,
};

describe.each(bareWires)("over %s, wherever the connection is cut,", (wire) => {
  describe.each(Object.entries(operations))("%s", (_, sweptOf) => {
    it.each(cuts)(
      "a connection cut anywhere gives the whole answer or one error, and leaves nothing open: %s, %s",
      async (direction, how) => {
        await using agent = await spoilableAgent(wire);
        const { calls, failed } = await sweepCuts(agent, await sweptOf(agent), [direction, how]);
        // Only a cut after the last relevant byte is harmless.
        expect(failed).toBeGreaterThan(calls * 0.7);
      },
    );
  });
});
