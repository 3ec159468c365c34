import { expect, it } from "vitest";
import { noop } from "../../../src/protocol/async/noop.js";
import { working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { beginTask } from "../../support/handler.js";
import { errorOf } from "../../support/say.js";
import { storeLine } from "../../support/store-line.js";
import { createVirtualClock } from "../../support/virtual-clock.js";

it.each<["cut" | "hold"]>([["cut"], ["hold"]])(
  "the log says once that the store has gone and once that it is back, whatever waits and calls meanwhile (%s)",
  async (how) => {
    const clock = createVirtualClock();
    const line = storeLine(memoryTaskStore({ clock }));
    await using served = await beginTask({
      clock,
      store: line.store,
      async agent({ emit, receive, text }) {
        await emit(working());
        if (text === "go") await receive();
        await emit(working());
      },
    });
    const watching = served.opening.readRest();
    line[how]();
    const calls: Promise<unknown>[] = [];
    for (let seconds = 0; seconds < 12; seconds += 1) {
      calls.push(errorOf(served.send("new")), served.get(served.taskId).catch(noop));
      await clock.advance(1000);
    }
    line.restore();
    await clock.advance(10_000);
    await Promise.all(calls);
    const lines = served.log.filter(({ level }) => level !== "debug");
    const about = (text: string) => lines.filter(({ message }) => message === text);
    expect(about("the task store is away")).toMatchObject([{ level: "error" }]);
    expect(about("the task store is back")).toMatchObject([{ level: "info", fields: { awayMs: expect.any(Number) } }]);
    // The call that failed first is logged too.
    expect(lines.length).toBeLessThanOrEqual(3);
    await served.send("on", { taskId: served.taskId });
    await watching;
  },
);
