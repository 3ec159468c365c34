import { expect, it } from "vitest";
import type { TaskStore } from "../../../src/core/ports.js";
import { working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { around } from "../../support/fault-store.js";
import { startHandler } from "../../support/handler.js";
import { errorOf, stateOf, taskOf } from "../../support/say.js";
import { createVirtualClock } from "../../support/virtual-clock.js";

// A store that answers, but not within `storeWaitMs` (2 s).

const refused = { code: "unavailable", retryAfterMs: 1000 };

/** A handler on a store whose calls take a while, and what its process says of the store. */
function startSlow(msOf: (method: string) => number) {
  const clock = createVirtualClock();
  const slow: TaskStore = around(memoryTaskStore({ clock }), async ({ method }, go) => {
    const ms = msOf(method);
    if (ms > 0) await new Promise<void>((resolve) => clock.after(ms, resolve));
    return go();
  });
  const served = startHandler({ clock, store: slow, agent: async () => working("done") });
  const readiness: string[] = [];
  served.health.watch((ready) => readiness.push(`${ready ? "ready" : "not ready"} at ${clock.now() - startedAt}`));
  const startedAt = clock.now();
  return {
    ...served,
    readiness,
    said: () => served.log.filter(({ level }) => level !== "debug").map(({ level, message }) => `${level} ${message}`),
    /** Sends a message each second, and returns what came of them. */
    async sendFor(seconds: number): Promise<readonly string[]> {
      const outcomes: Promise<string>[] = [];
      for (let count = 0; count < seconds; count++) {
        outcomes.push(
          served.send("go").then(
            (response) => stateOf(taskOf(response)),
            ({ code }) => code,
          ),
        );
        await clock.advance(1000);
      }
      await clock.advance(3000);
      return Promise.all(outcomes);
    },
  };
}

const reads = new Set(["read", "head", "recordsAfter", "recordsAt", "inbox", "orphans", "due", "waiting", "otherTtls"]);

it("a store is away while its writes are late, logged once, and ready once they are in time again", async () => {
  let ms = 0;
  await using served = startSlow((method) => (reads.has(method) ? 0 : ms));
  expect(new Set(await served.sendFor(2))).toEqual(new Set(["COMPLETED"]));
  ms = 3000;
  expect(new Set(await served.sendFor(30))).toEqual(new Set(["unavailable"]));
  expect(served.readiness).toHaveLength(1);
  expect(served.readiness[0]).toMatch(/^not ready at 1\d{4}$/u);
  ms = 10;
  await served.clock.advance(2000);
  expect(served.readiness).toHaveLength(1);
  await served.clock.advance(8000);
  expect(served.readiness).toHaveLength(2);
  expect(stateOf(taskOf(await sent(served)))).toBe("COMPLETED");
  expect(served.said().filter((line) => /away|back|late/u.test(line))).toEqual([
    "error the task store is away",
    "info the task store is back",
  ]);
});

it("a process is not ready where writes of tasks are late alone, and logs the cause once", async () => {
  let ms = 0;
  await using served = startSlow((method) => (method === "create" || method === "append" ? ms : 0));
  await served.sendFor(2);
  ms = 3000;
  expect(new Set(await served.sendFor(20))).toEqual(new Set(["unavailable"]));
  expect(served.readiness).toHaveLength(1);
  // No sends come any more, so only probes can tell.
  await served.clock.advance(30_000);
  expect(served.readiness).toHaveLength(1);
  ms = 0;
  await served.clock.advance(8000);
  expect(served.readiness).toHaveLength(2);
  expect(stateOf(taskOf(await sent(served)))).toBe("COMPLETED");
  expect(served.said().filter((line) => /away|back|late/u.test(line))).toEqual([
    "warn the task store answers too late for sends",
    "info the task store is back",
  ]);
});

it("a store that is late for a moment fails that send alone, and the process stays ready", async () => {
  let ms = 0;
  await using served = startSlow((method) => (method === "create" ? ms : 0));
  ms = 3000;
  const error = errorOf(served.send("go"));
  await served.clock.advance(2000);
  expect(await error).toMatchObject(refused);
  ms = 0;
  expect(stateOf(taskOf(await sent(served)))).toBe("COMPLETED");
  await served.clock.advance(20_000);
  expect(served.readiness).toEqual([]);
  expect(served.said().filter((line) => /away|back|late/u.test(line))).toEqual([
    "warn the task store answers too late for sends",
    "info the task store is back",
  ]);
});

async function sent({ send, clock }: ReturnType<typeof startSlow>) {
  const response = send("go");
  await clock.advance(100);
  return response;
}
