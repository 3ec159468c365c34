import { describe, expect, it } from "vitest";
import type { Agent, Turn } from "../../../src/core/agent.js";
import { artifact, inputRequired, reply, working } from "../../../src/protocol/events.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import { silentLogger } from "../../../src/protocol/logger.js";
import type { Artifact, Message } from "../../../src/protocol/model.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { contextOf, startHandler, type TestHandlerOptions } from "../../support/handler.js";
import { errorOf, linesOf, messageOf, requestOf, say, stateOf, textIn } from "../../support/say.js";
import { storeLine } from "../../support/store-line.js";
import { createVirtualClock, settle, turnUntil } from "../../support/virtual-clock.js";

// Agents that answer with messages need no store.

const alice = { agent: "", tenant: "", owner: "alice" };
const once = { extensions: [idempotentSendExtension] };
const refused = { code: "unavailable", retryAfterMs: 1000 };
const ways: ["cut" | "hold" | "fill"][] = [["cut"], ["hold"], ["fill"]];

function start(agent: Agent, options: Partial<TestHandlerOptions> = {}) {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const line = storeLine(store);
  const turns: Turn[] = [];
  const counting: Agent = (turn) => {
    turns.push(turn);
    return agent(turn);
  };
  const served = startHandler({ clock, store: line.store, ...options, agent: counting });
  return {
    ...served,
    line,
    turns,
    counting,
    /** Makes the store go away, and waits until that is known. */
    async lose(how: "cut" | "hold" | "fill") {
      line[how]();
      const first = served.send("new", {}, once).catch(() => undefined);
      await clock.advance(8000);
      await first;
    },
    async entries(contextId: string): Promise<readonly string[]> {
      const entries = await store.readConversation(alice, contextId, { limit: 100, maxBytes: 1 << 20 });
      return entries.map(({ content }) => textIn((content as Message | Artifact | undefined)?.parts));
    },
  };
}

const echo: Agent = async ({ text }) => reply(`you said ${text}`);
const answer = async (response: ReturnType<ReturnType<typeof start>["send"]>): Promise<string> =>
  textIn(messageOf(await response).parts);

describe("an agent that has only answered with messages", () => {
  it.each(ways)(
    "an agent of direct replies answers at once while the store is away, and they are recorded later (%s)",
    async (how) => {
      await using served = start(echo);
      await served.send("hello", { contextId: "here" });
      await settle();
      await served.lose(how);
      expect(await answer(served.send("one", { contextId: "here" }))).toBe("you said one");
      expect(await linesOf(served.stream("two", { contextId: "here" }))).toEqual(['message "you said two"']);
      served.line.restore();
      await served.clock.advance(4000);
      expect(await served.entries("here")).toEqual([
        ...["hello", "you said hello", "one", "you said one", "two", "you said two"],
      ]);
    },
  );

  it.each(ways)(
    "an agent of direct replies is not started by a send that needs the store all the same (%s)",
    async (how) => {
      await using served = start(echo, {
        push: { store: undefined as never, check: () => [], added: () => {}, removed: () => {} },
      });
      await served.send("hello");
      await served.lose(how);
      const turns = served.turns.length;
      const taskPushNotificationConfig = { url: "https://example.com" };
      const sends = [
        served.send("idempotent", {}, once),
        served.stream("idempotent", {}, once),
        served.send("at once", { configuration: { returnImmediately: true } }),
        served.send("with a webhook", { configuration: { taskPushNotificationConfig } }),
        served.send("to a task", { taskId: "task" }),
        served.send("named", {}, { taskName: "name" }),
      ];
      for (const send of sends) expect(await errorOf(send)).toMatchObject(refused);
      expect(served.turns).toHaveLength(turns);
      served.line.restore();
    },
  );

  it("an agent is known by its replies alone: that a slow one gave its caller a task says nothing", async () => {
    await using served = start(async ({ text }) => {
      await new Promise<void>((resolve) => served.clock.after(1500, resolve));
      return reply(text);
    });
    const slow = served.send("slow");
    await served.clock.advance(1500);
    expect((await slow).payload.case).toBe("task");
    await served.lose("cut");
    const response = served.send("again");
    await served.clock.advance(1500);
    expect(await answer(response)).toBe("again");
    served.line.restore();
  });

  it("an agent is known by its replies also when it has failed, or has refused a message", async () => {
    await using served = start(async ({ text }) => {
      if (text === "fail") throw new TypeError("broken");
      return reply(text);
    });
    await served.send("hello");
    await served.send("fail");
    await served.lose("cut");
    expect(await answer(served.send("again"))).toBe("again");
    // A failure needs a task that says so.
    const error = errorOf(served.send("fail"));
    await served.clock.advance(2000);
    expect(await error).toMatchObject(refused);
    expect(await answer(served.send("again"))).toBe("again");
    served.line.restore();
  });

  it("an agent of direct replies answers in the first moment of an outage, also without a count of tasks", async () => {
    await using served = start(echo, { limits: { tasksPerOwner: 4 } });
    for (const text of ["one", "two", "three"]) await served.send(text);
    served.line.hold();
    for (const text of ["four", "five", "six"]) expect(await answer(served.send(text))).toBe(`you said ${text}`);
    served.line.restore();
  });

  it("direct replies that wait are lost when their process ends first, and the log says how many", async () => {
    const served = start(echo);
    await served.send("hello");
    await served.clock.advance(100);
    await served.lose("cut");
    for (const text of ["one", "two", "three"]) await served.send(text);
    await turnUntil(served.clock, served.handler.close());
    expect(served.log).toContainEqual({
      level: "warn",
      fields: { lost: 3 },
      message: "direct replies are missing in their conversations: the task store failed or was too slow",
    });
  });
});

describe("an agent of which something else is known, or nothing", () => {
  it("an agent is not started in an outage before it has answered with a message", async () => {
    await using served = start(echo);
    await served.lose("cut");
    const turns = served.turns.length;
    expect(await errorOf(served.send("one"))).toMatchObject(refused);
    expect(served.turns).toHaveLength(turns);
    served.line.restore();
  });

  const tasks: Readonly<Record<string, (turn: Turn) => ReturnType<Agent>>> = {
    "a status": async () => working("done"),
    "an artifact": async () => artifact("done"),
    nothing: async () => undefined as never,
    "a question": async ({ ask }) => reply(textIn((await ask(inputRequired("which?"))).parts)),
  };

  it.each(Object.keys(tasks))(
    "an agent is not started in an outage once it has answered with %s, whatever it has done besides",
    async (name) => {
      await using served = start((turn) => (turn.text === "task" ? tasks[name]?.(turn) : echo(turn)) ?? echo(turn));
      await served.send("hello");
      await served.send("task");
      await served.send("hello");
      await settle();
      await served.lose("cut");
      const turns = served.turns.length;
      expect(await errorOf(served.send("hello"))).toMatchObject(refused);
      expect(served.turns).toHaveLength(turns);
      served.line.restore();
      await served.clock.advance(2000);
    },
  );

  it.each(ways)(
    "an agent that needs its first task in an outage is aborted, and its caller is refused and told so (%s)",
    async (how) => {
      await using served = start(
        async ({ text, emit, signal }) => {
          if (text !== "task") return reply(text);
          await emit(working());
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          return reply("too late");
        },
        { restartable: true },
      );
      await served.send("hello");
      await served.lose(how);
      const error = errorOf(served.send("task"));
      await served.clock.advance(2000);
      expect(await error).toMatchObject(refused);
      expect(served.turns.at(-1)?.signal.aborted).toBe(true);
      const turns = served.turns.length;
      for (const text of ["task", "hello"]) expect(await errorOf(served.send(text))).toMatchObject(refused);
      expect(served.turns).toHaveLength(turns);
      served.line.restore();
      await served.clock.advance(20_000);
      // The write may still have arrived. Its task must not look as if it worked.
      const list = await served.operations.listTasks(requestOf("listTasks"), contextOf());
      expect(new Set(list.tasks.map(stateOf))).toEqual(new Set(how === "hold" ? ["FAILED"] : []));
    },
  );

  it("an agent that replaced one of direct replies is not started while the store is away", async () => {
    await using served = start(echo);
    await served.send("hello");
    await served.lose("cut");
    const turns: string[] = [];
    const next = served.handler.replacedBy({
      logger: silentLogger,
      async agent({ text }) {
        turns.push(text);
        return reply(text);
      },
    });
    expect(await errorOf(next.operations.sendMessage(say("one"), contextOf()))).toMatchObject(refused);
    expect(turns).toEqual([]);
    served.line.restore();
  });
});
