import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { artifact, completed, working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { createSqlStore } from "../../../src/store/sql/task-store.js";
import { localSqliteBackend } from "../../../src/store/sqlite/database.js";
import { alice } from "../../../src/testing/contract/fixtures.js";
import { temporaryFolder } from "../../store/sql/temporary-folder.js";
import { startHandler } from "../../support/handler.js";
import { openStream, stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle, turnUntil, type VirtualClock } from "../../support/virtual-clock.js";

const forEver = new Promise<never>(() => {});
const kibibyte = 1024;
const limits = { logWindowBytes: 1024 * kibibyte };
const minuteMs = 60_000;

const stores = {
  memory: async (clock: VirtualClock) => memoryTaskStore({ clock }),
  SQLite: async (clock: VirtualClock) =>
    createSqlStore(localSqliteBackend({ path: `${await temporaryFolder()}/tasks.db` }, clock.now), { clock }),
};

/** An agent that replaces an artifact of 8 KiB every two seconds for 30 minutes. */
function replacing(clock: VirtualClock): Agent {
  return async function* ({ cause, text }) {
    if (cause === "restart") {
      yield completed(`again: ${text}`);
      return;
    }
    yield working();
    for (let count = 0; count < 900; count++) {
      yield artifact("x".repeat(8 * kibibyte), { artifactId: "a" });
      await new Promise<void>((resolve) => clock.after(2000, resolve));
    }
    await forEver;
  };
}

describe.each(Object.entries(stores))("the log of a task that grows fast, on the store: %s", (_, make) => {
  it("the log of a task that grows fast takes four times the window at most", async () => {
    const clock = createVirtualClock();
    const store = await make(clock);
    const bytes = 100 * kibibyte;
    const replaced = Promise.withResolvers<void>();
    const agent: Agent = async function* ({ text }) {
      if (text !== "replace") {
        yield completed("done");
        return;
      }
      yield working();
      for (let count = 0; count < 300; count++) yield artifact("x".repeat(bytes), { artifactId: "a", lastChunk: true });
      replaced.resolve();
      await forEver;
    };
    const served = startHandler({ agent, clock, store, limits });
    const { id } = taskOf((await openStream(served.stream("replace"))).firstItem.response);
    const { key = 0 } = (await store.head(alice, id)) ?? {};
    await turnUntil(clock, replaced.promise);
    await settle();
    // Of 300 replacements at most 40 fit; the others are gone, though none is older than ten minutes.
    const { seq = 0 } = (await store.head(alice, id)) ?? {};
    expect(await store.recordsAfter(key, seq - 60, 1)).toBe("compacted");
    expect(await store.recordsAfter(key, seq - 8, 1)).not.toBe("compacted");
    expect(stateOf(taskOf(await served.send("hello")))).toBe("COMPLETED");
    await turnUntil(clock, served.handler.close());
  });
});

describe.each(Object.entries(stores))("the log of a running task on the store: %s", (_, make) => {
  it("the log of a running task is dropped behind its snapshot beyond a window of ten minutes or more", async () => {
    const clock = createVirtualClock();
    const store = await make(clock);
    const first = startHandler({ agent: replacing(clock), clock, store, limits, restartable: true });
    const { id } = taskOf((await openStream(first.stream("go"))).firstItem.response);
    const { key = 0 } = (await store.head(alice, id)) ?? {};
    const reachesBackTo = async (after: number) => (await store.recordsAfter(key, after, 1)) !== "compacted";
    const seqNow = async () => (await store.head(alice, id))?.seq ?? 0;

    await clock.advance(9 * minuteMs);
    expect(await reachesBackTo(0)).toBe(true);
    const early = await seqNow();
    await clock.advance(6 * minuteMs);
    expect([await reachesBackTo(0), await reachesBackTo(early)]).toEqual([false, true]);
    const late = await seqNow();
    await clock.advance(14 * minuteMs);
    expect([await reachesBackTo(early), await reachesBackTo(late)]).toEqual([false, false]);
    expect(await reachesBackTo((await seqNow()) - 250)).toBe(true);

    // Who comes back later starts with the task, and a restart finds the message of the turn.
    const storedTask = await store.read(alice, id);
    expect(storedTask?.snapshot).toBeDefined();
    expect((await store.recordsAt(key, [1, 2, 3])).map(({ kind }) => kind).slice(0, 2)).toEqual([
      "turnStarted",
      "message",
    ]);
    await turnUntil(clock, first.handler.close());
    const second = startHandler({ agent: replacing(clock), clock, store, limits, restartable: true });
    await clock.advance(10_000);
    const task = await second.get(id);
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual(["COMPLETED", "again: go"]);
    await settle();
    await turnUntil(clock, second.handler.close());
  });
});
