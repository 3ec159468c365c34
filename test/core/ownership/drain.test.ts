import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { authRequired, completed, inputRequired, park, working } from "../../../src/protocol/events.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler } from "../../support/handler.js";
import { lineOf, stateOf, taskOf } from "../../support/say.js";
import { createVirtualClock, settle, turnUntil } from "../../support/virtual-clock.js";

const drainMs = 10_000;

/** A store that holds back the answers of one method until released. */
function slowAt(method: "beginSend" | "read") {
  const clock = createVirtualClock();
  const { promise: signal, resolve: resolveAnswer } = Promise.withResolvers<void>();
  let isSlow = false;
  const memory = memoryTaskStore({ clock });
  const store = new Proxy<TaskStore>(memory, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return async (...args: readonly unknown[]) => {
        if (isSlow && name === method) await signal;
        return Reflect.apply(member, target, args);
      };
    },
  });
  const slow = (): void => {
    isSlow = true;
  };
  return { clock, store, slow, answer: resolveAnswer };
}

describe("a handler that drains", () => {
  const once = { extensions: [idempotentSendExtension] };

  it("a drain waits for a message before its turn has started, and for that turn", async () => {
    const { clock, store, slow, answer } = slowAt("beginSend");
    const limits = { storeWaitMs: 2 * drainMs };
    await using served = startHandler({ clock, store, limits, agent: async () => working("done") });
    slow();
    const response = served.send("go", {}, once);
    const streamed = served.stream("go", {}, once)[Symbol.asyncIterator]().next();
    await settle();
    let isDrained = false;
    const drained = served.handler.drain(drainMs).then(() => (isDrained = true));
    await clock.advance(drainMs - 1);
    expect(isDrained).toBe(false);
    answer();
    expect(stateOf(taskOf(await response))).toBe("COMPLETED");
    expect(lineOf((await streamed).value)).toMatch(/^task/);
    // No time needs to pass.
    await drained;
  });

  it("a drain waits for a message on its way to an existing task", async () => {
    const { clock, store, slow, answer } = slowAt("read");
    await using served = startHandler({ clock, store, agent: async ({ text }) => inputRequired(`${text}?`) });
    const { id: taskId } = taskOf(await served.send("one"));
    await settle();
    slow();
    const response = served.send("two", { taskId });
    await settle();
    const drained = served.handler.drain(drainMs);
    await settle();
    answer();
    expect(stateOf(taskOf(await response))).toBe("INPUT_REQUIRED");
    await drained;
  });

  it("a drain does not wait for a message to a turn in another process", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const { promise: signal, resolve: end } = Promise.withResolvers<void>();
    const options = { clock, store, limits: { inboxWaitMs: 600_000 } };
    await using holder = startHandler({
      ...options,
      async agent(turn) {
        await turn.ask(inputRequired("which?"));
        await signal;
      },
    });
    const { id: taskId } = taskOf(await holder.send("go"));
    const other = startHandler({ ...options, agent: async () => {} });
    const response = other.send("this one", { taskId });
    response.catch(() => {});
    await settle();
    await other.handler.drain(drainMs);
    await turnUntil(clock, other.handler.close());
    await expect(response).rejects.toMatchObject({ code: "unavailable" });
    end();
    await settle();
    expect(stateOf(await holder.get(taskId))).toBe("COMPLETED");
  });

  it("a handler that drains wakes no parked task, because its turn would be cut short", async () => {
    const clock = createVirtualClock();
    const causes: string[] = [];
    const { promise: signal, resolve: end } = Promise.withResolvers<void>();
    const served = startHandler({
      clock,
      async *agent({ cause, text }) {
        causes.push(cause);
        if (text === "hold") await signal;
        else yield park({ wakeAt: clock.now() + 1000 });
      },
    });
    await served.send("park", { configuration: { returnImmediately: true } });
    void served.send("hold", { configuration: { returnImmediately: true } });
    await settle();
    const drained = served.handler.drain(drainMs);
    await clock.advance(drainMs / 2);
    expect(causes).toEqual(["message", "message"]);
    end();
    await drained;
    await turnUntil(clock, served.handler.close());
    expect(causes).toHaveLength(2);
  });
});

describe("a handler that drains, and a turn that waits for its caller", () => {
  const questions = [
    ["INPUT_REQUIRED", inputRequired("which one?")],
    ["AUTH_REQUIRED", authRequired("who are you?")],
  ] as const;

  it.each(questions)(
    "a drain lets go at once of a turn that waits at %s, and the next message starts a turn elsewhere",
    async (state, asks) => {
      const clock = createVirtualClock();
      const store = memoryTaskStore({ clock });
      const turns: string[] = [];
      const agent: Agent = async ({ text, cause, ask }) => {
        turns.push(`${cause} ${text}`);
        if (text !== "go") return completed();
        await ask(asks);
        return completed();
      };
      await using first = startHandler({ clock, store, agent });
      const { id: taskId } = taskOf(await first.send("go"));
      // No time needs to pass.
      await first.handler.drain(drainMs);
      expect(stateOf(await first.get(taskId))).toBe(state);
      expect(await store.head({ agent: "", tenant: "", owner: "alice" }, taskId)).toMatchObject({ holder: "" });
      await using second = startHandler({ clock, store, agent });
      expect(stateOf(taskOf(await second.send("the red one", { taskId })))).toBe("COMPLETED");
      expect(turns).toEqual(["message go", "message the red one"]);
    },
  );

  it("a drain lets go of a turn that begins to wait meanwhile", async () => {
    const clock = createVirtualClock();
    const { promise, resolve } = Promise.withResolvers<void>();
    await using served = startHandler({
      clock,
      agent: async ({ emit, ask }) => {
        await emit(working());
        await promise;
        await ask(inputRequired("which one?"));
        return completed();
      },
    });
    const response = served.send("go");
    await settle();
    const drained = served.handler.drain(drainMs);
    await settle();
    resolve();
    expect(stateOf(taskOf(await response))).toBe("INPUT_REQUIRED");
    await drained;
  });

  it("a drain waits for a turn that waits at WORKING, and fails it in the end", async () => {
    const clock = createVirtualClock();
    await using served = startHandler({
      clock,
      agent: async ({ emit, receive }) => {
        await emit(working());
        await receive();
        return completed();
      },
    });
    const response = served.send("go");
    await settle();
    let isDrained = false;
    const drained = served.handler.drain(drainMs).then(() => (isDrained = true));
    await clock.advance(drainMs - 1);
    expect(isDrained).toBe(false);
    await turnUntil(
      clock,
      drained.then(() => {}),
    );
    expect(stateOf(taskOf(await response))).toBe("FAILED");
  });
});
