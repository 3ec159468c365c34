import type { Agent } from "trivium";
import { artifact } from "trivium";
import { describe, expect, it } from "vitest";
import { startHandler } from "../../support/handler.js";
import { openStream, stateOf, taskOf } from "../../support/say.js";
import { turns } from "../../support/turns.js";

const chunkOf = (text: string) => artifact(text, { artifactId: "a", append: true });

/** An agent that yields chunks as fast as it can, ignores its signal, and counts them. */
function babbler(style: "generator" | "emits") {
  const progress = { eventCount: 0, stopped: false, enough: false };
  const chunks = async function* () {
    try {
      while (!progress.enough) {
        progress.eventCount++;
        yield chunkOf(".");
      }
    } finally {
      progress.stopped = true;
    }
  };
  const emits: Agent = async ({ emit }) => {
    for await (const chunk of chunks()) await emit(chunk);
    return undefined;
  };
  return { progress, agent: style === "generator" ? chunks : emits };
}

describe.each(["generator", "emits"] as const)("an agent that never waits, as one that is a %s", (style) => {
  it("an agent that never waits stops at its next event when canceled, even if it ignores its signal", async () => {
    const { agent, progress } = babbler(style);
    await using handler = startHandler({ agent });
    const { firstItem: first, iterator } = await openStream(handler.stream("go"));
    await iterator.return?.();
    const { id } = taskOf(first.response);
    expect(stateOf(await handler.cancel(id))).toBe("CANCELED");
    expect(progress.stopped).toBe(true);
    const { eventCount } = progress;
    await turns(3);
    expect(progress.eventCount).toBe(eventCount);
  });

  it("an agent that never waits yields to other work after its first event, then at least every 64", async () => {
    const { agent, progress } = babbler(style);
    await using handler = startHandler({ agent, limits: { batchMaxEvents: 10_000 } });
    const bursts: number[] = [];
    let before = 0;
    const count = (): void => {
      if (progress.eventCount > before) bursts.push(progress.eventCount - before);
      before = progress.eventCount;
      if (bursts.length < 20) setImmediate(count);
      else progress.enough = true;
    };
    setImmediate(count);
    const { firstItem: first, readRest: rest } = await openStream(handler.stream("go"));
    const eventCount = progress.eventCount;
    await handler.get(taskOf(first.response).id);
    expect(progress.eventCount - eventCount).toBeLessThanOrEqual(64);
    await rest();
    expect(bursts[0]).toBeLessThanOrEqual(2);
    expect(Math.max(...bursts)).toBeLessThanOrEqual(65);
  });
});

describe("an agent that ignores refusals", () => {
  it("an agent that ignores refusals is cut off after its grace, and then does not block other work", async () => {
    let goesOn = true;
    const agent: Agent = async ({ emit }) => {
      while (goesOn) await emit(chunkOf(".")).catch(() => {});
      return undefined;
    };
    await using handler = startHandler({ agent, limits: { graceMs: 100 } });
    const { firstItem: first, iterator } = await openStream(handler.stream("go"));
    await iterator.return?.();
    const canceled = handler.cancel(taskOf(first.response).id);
    await handler.clock.advance(100);
    expect(stateOf(await canceled)).toBe("CANCELED");
    await turns(3);
    goesOn = false;
  });
});
