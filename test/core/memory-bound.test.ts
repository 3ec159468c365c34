import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/core/agent.js";
import { A2AError } from "../../src/protocol/errors.js";
import { artifact, completed, inputRequired, working } from "../../src/protocol/events.js";
import type { Part } from "../../src/protocol/model.js";
import { data, file, text } from "../../src/protocol/parts.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { startHandler } from "../support/handler.js";
import { settledHeap } from "../support/heap.js";
import { taskOf } from "../support/say.js";
import { tries } from "../support/tries.js";
import { createRandom, type Random } from "./simulator/random.js";

// Whatever callers send and an agent answers, the memory store takes no more of the heap than it counts.

const mebibyte = 1 << 20;
const maxBytes = 48 * mebibyte;
/** What is there besides the tasks: code that is compiled on first use, indexes, this test's own numbers. */
const fixedBytes = 12 * mebibyte;

const seeds = Array.from({ length: tries(1, 6) }, (_, index) => index + 1);

/** A part of a random kind and size. */
function partOf(random: Random): Part {
  const size = Math.floor(2 ** random.int(4, 18));
  return random.pick<() => Part>([
    () => text(random.pick(["x", "é", "語"]).repeat(size)),
    () => data({ list: Array.from({ length: Math.ceil(size / 16) }, (_, index) => index + random.next()) }),
    () =>
      data(Object.fromEntries(Array.from({ length: Math.ceil(size / 32) }, (_, index) => [`key ${index}`, "value"]))),
    () =>
      data(
        Array.from({ length: Math.ceil(size / 64) }, (_, index) => ({ index, deep: { deeper: [true, null, "y"] } })),
      ),
    () => file(new Uint8Array(size), { mediaType: "application/octet-stream" }),
  ])();
}

/** An agent that answers with parts of random kinds, and then ends its task or asks. */
function randomAgent(random: Random): Agent {
  return async function* () {
    yield working();
    const events = random.int(0, 8);
    for (let count = 0; count < events; count++) {
      yield artifact([partOf(random)], {
        artifactId: random.pick(["a", "b"]),
        append: random.chance(0.5) && count > 0,
      });
    }
    yield random.chance(0.5) ? completed() : inputRequired("more?");
  };
}

describe("the heap behind a memory store", () => {
  it.each(seeds)(
    "the heap behind a memory store stays below what the store may count, whatever the traffic (seed %i)",
    async (seed) => {
      const random = createRandom(seed);
      const before = settledHeap();
      const store = memoryTaskStore({ maxBytes, finishedLogMaxBytes: maxBytes / 4 });
      await using served = startHandler({ agent: randomAgent(random), store, limits: { tasksPerOwner: 100_000 } });
      const taskIds = new Map<string, string>();
      let refused = 0;
      for (let sends = 0; refused < 100 && sends < 3000; sends++) {
        const owner = random.pick(["alice", "bob", "carol", "dave"]);
        const taskId = random.chance(0.4) ? taskIds.get(owner) : undefined;
        const ids = taskId === undefined ? {} : { taskId };
        const response = await served.send([partOf(random)], ids, { principal: { owner } }).catch((error: unknown) => {
          if (error instanceof A2AError && error.code === "resourceExhausted") refused += 1;
        });
        if (response !== undefined) taskIds.set(owner, taskOf(response).id);
      }
      expect(refused).toBe(100);
      expect(settledHeap() - before).toBeLessThan(maxBytes + fixedBytes);
    },
  );
});
