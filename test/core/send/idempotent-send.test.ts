import { afterEach, describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { A2AError, type ErrorCode } from "../../../src/protocol/errors.js";
import { artifact, completed, inputRequired, reply, working } from "../../../src/protocol/events.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler, type TestHandler, type TestHandlerOptions } from "../../support/handler.js";
import { errorOf, historyOf, linesOf, messageOf, openStream, stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const once = { extensions: [idempotentSendExtension] };
const same = { messageId: "m" };

const handlers: TestHandler[] = [];
afterEach(async () => {
  for (const handler of handlers.splice(0)) await handler[Symbol.asyncDispose]();
});

/** Two handlers on one store, with a count of agent starts. */
function two(agent: Agent, options: Omit<TestHandlerOptions, "agent"> = {}) {
  const { clock = createVirtualClock() } = options;
  const store = memoryTaskStore({ clock });
  const started: string[] = [];
  const counted: Agent = (turn) => {
    started.push(`${turn.text} ${turn.attempt}`);
    return agent(turn);
  };
  const here = startHandler({ store, ...options, clock, agent: counted });
  const there = startHandler({ store, ...options, clock, agent: counted });
  handlers.push(here, there);
  return { here, there, clock, store, started };
}

const ask: Agent = async function* ({ text }) {
  yield artifact(`got ${text}`, { artifactId: text });
  yield text === "end" ? completed() : inputRequired("?");
};

describe("a retried send", () => {
  it("a retried send gets the reply of the first in any handler, and nothing runs twice", async () => {
    const { here, there, started } = two(async ({ text }) => reply(`${text}!`));
    const first = messageOf(await here.send("x", same, once));
    expect(textIn(first.parts)).toBe("x!");
    expect(messageOf(await there.send("x", same, once))).toEqual(first);
    expect(await linesOf(here.stream("x", same, once))).toEqual(['message "x!"']);
    expect(started).toEqual(["x 1"]);
  });

  it("a retried send waits while the first starts, and gets its outcome", async () => {
    const gate = Promise.withResolvers<void>();
    const { here, there, clock, started } = two(async () => {
      await gate.promise;
      return reply("done");
    });
    const answers = [here.send("x", same, once), there.send("x", same, once), here.send("x", same, once)];
    await settle();
    gate.resolve();
    await settle();
    await clock.advance(1000);
    const ids = (await Promise.all(answers)).map((answer) => messageOf(answer).messageId);
    expect(new Set(ids).size).toBe(1);
    expect(started).toEqual(["x 1"]);
  });

  it("a retried send gets the task of the first at the same stop, or at once with returnImmediately", async () => {
    const gate = Promise.withResolvers<void>();
    const { here, there, started } = two(async function* () {
      yield working();
      await gate.promise;
      yield inputRequired("?");
    });
    const first = here.send("x", same, once);
    const second = there.send("x", same, once);
    const now = { ...same, messageId: "now", configuration: { returnImmediately: true } };
    const early = taskOf(await here.send("y", now, once));
    expect([stateOf(early), stateOf(taskOf(await there.send("y", now, once)))]).toEqual(["SUBMITTED", "WORKING"]);
    gate.resolve();
    const [one, other] = [taskOf(await first), taskOf(await second)];
    expect([stateOf(one), other.id]).toEqual(["INPUT_REQUIRED", one.id]);
    expect(other).toEqual(one);
    expect(started).toEqual(["x 1", "y 1"]);
  });

  it("a retried send matches the first whatever its key order and operation", async () => {
    const { here, started } = two(ask);
    await here.send("x", { ...same, metadata: { a: 1, b: { c: 2, d: 3 } } }, once);
    const lines = await linesOf(here.stream("x", { ...same, metadata: { b: { d: 3, c: 2 }, a: 1 } }, once));
    expect(lines).toEqual(["task SUBMITTED", 'artifact x "got x"', "status INPUT_REQUIRED"]);
    expect(started).toEqual(["x 1"]);
  });

  it.each([
    ["another text", "y", {}],
    ["other metadata", "x", { metadata: { a: 1 } }],
    ["another configuration", "x", { configuration: { historyLength: 1 } }],
    ["another context", "x", { contextId: "c" }],
  ] as const)("a retried send with %s under its id is refused, and the id is named", async (_, text, changes) => {
    const { here, started } = two(ask);
    await here.send("x", same, once);
    const error = await errorOf(here.send(text, { ...same, ...changes }, once));
    expect(error).toMatchObject({ code: "invalidParams", violations: [{ field: "message.messageId" }] });
    expect(started).toEqual(["x 1"]);
  });

  it("a retried send counts as a new message without the extension, and for another caller", async () => {
    const { here, started } = two(ask);
    await here.send("x", same, once);
    await here.send("x", same);
    await here.send("x", same, { ...once, principal: { owner: "bob" } });
    await here.send("x", same, { ...once, principal: { owner: "alice", tenant: "t" } });
    expect(started).toEqual(["x 1", "x 1", "x 1", "x 1"]);
  });

  it("a retried send gets a task in place of a reply too large to keep", async () => {
    const { here, there, started } = two(async () => reply("x".repeat(2000)), { limits: { keptReplyMaxBytes: 1000 } });
    const task = taskOf(await here.send("x", same, once));
    expect([stateOf(task), textIn(task.status?.message?.parts).length]).toEqual(["COMPLETED", 2000]);
    expect(taskOf(await there.send("x", same, once))).toEqual(task);
    expect(started).toHaveLength(1);
    messageOf(await here.send("x"));
  });

  it("a retried send is refused when its task is no longer stored", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock, maxBytes: 3000 });
    const { here } = two(async () => completed(), { clock, store });
    const { id } = taskOf(await here.send("x", same, once));
    for (let count = 0; count < 5; count++) await here.send("y");
    await expect(here.get(id)).rejects.toMatchObject({ code: "taskNotFound" });
    expect(await errorOf(here.send("x", same, once))).toMatchObject({ code: "taskNotFound", metadata: { taskId: id } });
  });
});

describe("a send that was refused", () => {
  it("a send refused before the agent started leaves no record, so a retry may even change the content", async () => {
    const gate = Promise.withResolvers<void>();
    const limits = { turnsPerOwner: 1, turnWaitMs: 0 };
    const { here, started } = two(async () => gate.promise, { limits });
    const running = here.send("first");
    expect(await errorOf(here.send("x", same, once))).toMatchObject({ code: "resourceExhausted" });
    gate.resolve();
    await running;
    await here.send("y", same, once);
    expect(started).toEqual(["first 1", "y 1"]);
  });

  it("a send that the agent refused fails again with the same error, without calling the agent", async () => {
    const { here, there, started } = two(async () => {
      throw new A2AError("contentTypeNotSupported", "no such thing", { metadata: { wants: "text" } });
    });
    for (const handler of [here, there]) {
      const error = await errorOf(handler.send("x", same, once));
      expect(error).toMatchObject({
        code: "contentTypeNotSupported",
        message: "no such thing",
        metadata: { wants: "text" },
      });
    }
    expect(started).toEqual(["x 1"]);
  });

  it.each<ErrorCode>(["unavailable", "resourceExhausted", "requestTimeout"])(
    "a send that failed by a temporary error of the agent reaches the agent again (%s)",
    async (code) => {
      let busy = true;
      const { here, there, started } = two(async () => {
        if (busy) throw new A2AError(code, "not now");
        return reply("now");
      });
      expect(await errorOf(here.send("x", same, once))).toMatchObject({ code, message: "not now" });
      busy = false;
      expect(textIn(messageOf(await there.send("x", same, once)).parts)).toBe("now");
      expect(started).toEqual(["x 1", "x 1"]);
    },
  );

  it("a send that a draining handler refused is handled by another", async () => {
    const { here, there, clock, started } = two(async ({ signal, text }) => {
      if (started.length === 1)
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      return reply(text);
    });
    const first = errorOf(here.send("x", same, once));
    await settle();
    const second = there.send("x", same, once);
    const drained = here.handler.drain(0);
    await clock.advance(1000);
    expect(await first).toMatchObject({ code: "unavailable" });
    expect(textIn(messageOf(await second).parts)).toBe("x");
    await clock.advance(10_000);
    await drained;
  });
});

describe("a send whose handler's lease expired", () => {
  it("a send of a handler without its lease is taken over, and the late handler writes nothing", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const gate = Promise.withResolvers<void>();
    const attempts: number[] = [];
    const agent: Agent = async function* ({ attempt }) {
      attempts.push(attempt);
      if (attempt === 1) await gate.promise;
      yield artifact(`by ${attempt}`, { artifactId: "a" });
    };
    const deadHandler = startHandler({ agent, store, clock: createVirtualClock(), limits: { taskAfterMs: 3_600_000 } });
    const first = deadHandler.send("x", same, once);
    await settle();
    const other = startHandler({ agent, store, clock });
    handlers.push(other, deadHandler);
    const second = other.send("x", same, once);
    await clock.advance(14_000);
    expect(attempts).toEqual([1]);
    await clock.advance(3000);
    const task = taskOf(await second);
    expect(attempts).toEqual([1, 2]);
    gate.resolve();
    await settle();
    expect(taskOf(await first)).toEqual(task);
    expect(textIn((await other.get(task.id)).artifacts[0]?.parts)).toBe("by 2");
    expect(historyOf(task)).toEqual(["user: x"]);
  });

  it("a send of a handler without its lease drops a late reply", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const gate = Promise.withResolvers<void>();
    const agent: Agent = async ({ attempt }) => {
      if (attempt === 1) await gate.promise;
      return reply(`by ${attempt}`);
    };
    const deadHandler = startHandler({ agent, store, clock: createVirtualClock(), limits: { taskAfterMs: 3_600_000 } });
    const first = errorOf(deadHandler.send("x", same, once));
    await settle();
    const other = startHandler({ agent, store, clock });
    handlers.push(other, deadHandler);
    const second = other.send("x", same, once);
    await clock.advance(17_000);
    const task = taskOf(await second);
    expect(textIn(task.status?.message?.parts)).toBe("by 2");
    gate.resolve();
    expect(await first).toMatchObject({ code: "unavailable" });
    expect(taskOf(await deadHandler.send("x", same, once))).toEqual(task);
  });
});

describe("a retried send to a task", () => {
  it("a retried send to a task that no process runs is taken once, and both tries get its stop", async () => {
    const { here, there, started } = two(ask);
    const { id: taskId } = taskOf(await here.send("go"));
    await settle();
    const again = { ...same, taskId };
    const answers = await Promise.all([here, there, here].map((handler) => handler.send("more", again, once)));
    for (const answer of answers) expect(stateOf(taskOf(answer))).toBe("INPUT_REQUIRED");
    await settle();
    await there.send("end", { taskId });
    const late = taskOf(await there.send("more", again, once));
    expect(historyOf(late).filter((line) => line === "user: more")).toHaveLength(1);
    expect(started).toEqual(["go 1", "more 1", "end 1"]);
  });

  it("a retried send waits in the inbox once, and both tries are answered when it is taken", async () => {
    const gate = Promise.withResolvers<void>();
    const { here, there, store, clock } = two(async function* ({ receive }) {
      yield working();
      await gate.promise;
      yield artifact(textIn((await receive()).parts), { artifactId: "a" });
    });
    const { firstItem: first, readRest: rest } = await openStream(here.stream("go"));
    const { id: taskId } = taskOf(first.response);
    const again = { ...same, taskId };
    const answers = [here.send("more", again, once), there.send("more", again, once)];
    const lines = linesOf(there.stream("more", again, once));
    await settle();
    const head = await store.head({ agent: "", tenant: "", owner: "alice" }, taskId);
    expect((await store.inbox(head?.key ?? 0)).entries).toHaveLength(1);
    gate.resolve();
    await clock.advance(2000);
    for (const answer of answers) expect(historyOf(taskOf(await answer))).toEqual(["user: go", "user: more"]);
    expect((await lines).slice(-2)).toEqual(['artifact a "more"', "status COMPLETED"]);
    await rest();
  });

  it("a retried send to a task gets the same refusal by the agent as the first", async () => {
    const { here, there, started } = two(async function* ({ text }) {
      if (text === "bad") throw new A2AError("invalidParams", "not that");
      yield inputRequired("?");
    });
    const { id: taskId } = taskOf(await here.send("go"));
    await settle();
    for (const handler of [here, there, here]) {
      expect(await errorOf(handler.send("bad", { ...same, taskId }, once))).toMatchObject({ message: "not that" });
    }
    expect(started).toEqual(["go 1", "bad 1"]);
  });

  it("a send to a task may be retried again when no turn took it in time", async () => {
    const gate = Promise.withResolvers<void>();
    const { here, there, clock } = two(async function* ({ receive }) {
      yield working();
      await gate.promise;
      await receive();
    });
    const { firstItem: first } = await openStream(here.stream("go"));
    const { id: taskId } = taskOf(first.response);
    const soon = { ...same, taskId, configuration: { returnImmediately: true } };
    const refused = [errorOf(here.send("more", soon, once)), errorOf(there.send("more", soon, once))];
    await clock.advance(11_000);
    for (const each of refused) expect(await each).toMatchObject({ code: "unsupportedOperation" });
    const answer = there.send("more", soon, once);
    gate.resolve();
    await clock.advance(2000);
    expect(historyOf(taskOf(await answer))).toEqual(["user: go", "user: more"]);
  });
});

describe("the stream of a retried send", () => {
  const lines = ["task SUBMITTED", 'artifact x "got x"', "status INPUT_REQUIRED"];

  it("the stream of a retried send starts and ends where the first did, whatever followed", async () => {
    const { here, there } = two(ask);
    expect(await linesOf(here.stream("x", same, once))).toEqual(lines);
    const { id: taskId } = taskOf(await here.send("x", same, once));
    await settle();
    expect(await linesOf(here.stream("more", { messageId: "n", taskId }, once))).toEqual([
      "task INPUT_REQUIRED",
      "status WORKING",
      'artifact more "got more"',
      "status INPUT_REQUIRED",
    ]);
    await settle();
    await here.send("end", { taskId });
    expect(await linesOf(there.stream("x", same, once))).toEqual(lines);
    expect((await linesOf(there.stream("more", { messageId: "n", taskId }, once))).at(-1)).toBe(
      "status INPUT_REQUIRED",
    );
  });

  it("the stream of a retried send resumes after the last event its caller has seen", async () => {
    const { here, there } = two(ask);
    const { firstItem: first, readRest: rest } = await openStream(here.stream("x", same, once));
    await rest();
    expect(await linesOf(there.stream("x", same, { ...once, after: first.id }))).toEqual(lines.slice(1));
  });

  it("the stream of a retried send is only the task when its log was pruned", async () => {
    const { here, clock } = two(async () => completed());
    await here.send("x", same, once);
    await clock.advance(61_000);
    expect(await linesOf(here.stream("x", same, once))).toEqual(["task COMPLETED"]);
    expect(stateOf(taskOf(await here.send("x", same, once)))).toBe("COMPLETED");
  });
});
