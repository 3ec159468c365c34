import { describe, expect, it } from "vitest";
import type { Direction } from "../../support/fault-schedule.js";
import { reading, streaming } from "./operations.js";
import { once, sweepPieces } from "./sweep.js";
import { bareWires, spoilableAgent } from "./through-proxy.js";

const directions: readonly Direction[] = ["request", "response"];

describe.each(bareWires)("over %s, however the bytes are split,", (wire) => {
  it.each(directions)("a call and a stream are read whole when the %s comes in two pieces", async (direction) => {
    await using agent = await spoilableAgent(wire);
    await sweepPieces(agent, await reading(agent), direction);
    await sweepPieces(agent, streaming(agent), direction);
  });

  it("a call and a stream are read whole when the bytes come one byte at a time both ways", async () => {
    await using agent = await spoilableAgent(wire);
    const pieces = { every: 1 };
    const rule = { kind: "flow", request: { pieces }, response: { pieces } } as const;
    expect(await once(agent, await reading(agent), rule)).toBe("succeeded");
    expect(await once(agent, streaming(agent), rule)).toBe("succeeded");
  });
});
