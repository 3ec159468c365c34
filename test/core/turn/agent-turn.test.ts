import { describe, expect, it } from "vitest";
import type { Turn } from "../../../src/core/agent.js";
import type { Principal } from "../../../src/protocol/context.js";
import { artifact, completed, inputRequired, reply, working } from "../../../src/protocol/events.js";
import type { Message, Task } from "../../../src/protocol/model.js";
import { data, text } from "../../../src/protocol/parts.js";
import { startHandler } from "../../support/handler.js";
import { historyOf, lineOf, messageOf, openStream, say, stateOf, taskOf, textIn } from "../../support/say.js";
import { settle } from "../../support/virtual-clock.js";

describe("a turn", () => {
  it("a turn has the message and the call that started it", async () => {
    const turns: Turn[] = [];
    await using served = startHandler({
      tenants: ["acme"],
      async agent(turn) {
        turns.push(turn);
        return reply("ok");
      },
    });
    const principal: Principal = { owner: "alice", role: "admin" };
    const configuration = { acceptedOutputModes: ["text/plain"], historyLength: 3 };
    const request = { messageId: "m1", tenant: "acme", metadata: { a: { b: [1] } }, configuration };
    const parts = [text("one "), data({ x: 1 }), text("two")];
    const answer = messageOf(await served.send(parts, request, { principal, extensions: ["urn:e"] }));
    const [turn] = turns;
    expect(turn).toMatchObject({
      message: { messageId: "m1", parts },
      text: "one two",
      task: undefined,
      contextId: answer.contextId,
      configuration,
      metadata: { a: { b: [1] } },
      extensions: ["urn:e"],
      tenant: "acme",
      attempt: 1,
      cause: "message",
    });
    expect(turn?.principal).toBe(principal);
    expect(turn?.taskId).not.toBe("");
    expect(turn?.signal.aborted).toBe(false);
  });

  it("a turn has a logger bound to its task", async () => {
    await using served = startHandler({
      async agent({ logger }) {
        for (const level of ["debug", "info", "warn", "error"] as const) logger[level]({ level }, "hello");
        return completed();
      },
    });
    const { id: taskId, contextId } = taskOf(await served.send("go"));
    const records = served.log.filter(({ message }) => message === "hello");
    expect(records.map(({ fields }) => fields)).toEqual(
      ["debug", "info", "warn", "error"].map((level) => ({ level, taskId, contextId })),
    );
  });

  it("a turn shows the task as it was when the turn began, whatever is emitted since", async () => {
    const before: (Task | undefined)[] = [];
    await using served = startHandler({
      async *agent(turn) {
        before.push(turn.task);
        yield artifact("x", { artifactId: "a" });
        yield turn.task === undefined ? inputRequired("more?") : completed();
      },
    });
    const { id: taskId } = taskOf(await served.send("one"));
    await served.send("two", { taskId });
    expect(before[0]).toBeUndefined();
    const task = before[1];
    expect([task?.id, stateOf(task), task?.artifacts.length]).toEqual([taskId, "INPUT_REQUIRED", 1]);
    expect(task === undefined ? [] : historyOf(task)).toEqual(["user: one", "agent: more?", "user: two"]);
  });

  it.each<[string, { readonly last?: number } | undefined, readonly string[]]>([
    ["all of it", undefined, ["one", "more?", "two", "still?", "three"]],
    ["all of it, said otherwise", {}, ["one", "more?", "two", "still?", "three"]],
    ["the last two", { last: 2 }, ["still?", "three"]],
    ["more than there is", { last: 99 }, ["one", "more?", "two", "still?", "three"]],
    ["nothing", { last: 0 }, []],
  ])("a turn returns the history of its task, oldest first: %s", async (_, options, expected) => {
    const histories: (readonly Message[])[] = [];
    await using served = startHandler({
      async *agent({ text: input, history }) {
        histories.push(await history(options));
        yield input === "one" ? inputRequired("more?") : inputRequired("still?");
      },
    });
    const { id: taskId } = taskOf(await served.send("one"));
    for (const input of ["two", "three"]) await served.send(input, { taskId });
    expect(histories.at(-1)?.map(({ parts }) => textIn(parts))).toEqual(expected);
  });

  it("a turn has its first message as history before a task exists, and reading it makes no task", async () => {
    await using served = startHandler({
      agent: async ({ history }) => reply((await history()).map(({ parts }) => textIn(parts)).join()),
    });
    expect(textIn(messageOf(await served.send("one")).parts)).toBe("one");
  });

  it("a turn has the text and the references of the last message it took", async () => {
    const facts: unknown[] = [];
    await using served = startHandler({
      async *agent(turn) {
        const answer = await turn.ask(inputRequired("more?"));
        const references = await turn.references();
        facts.push(answer === turn.message, turn.text, references.length);
        yield completed();
      },
    });
    const other = taskOf(await served.send("other")).id;
    const { id: taskId } = taskOf(await served.send("one"));
    await served.send("two", { taskId, referenceTaskIds: [other] });
    expect(facts).toEqual([true, "two", 1]);
  });

  it("a turn shows at most 16 referenced tasks, each once, as currently stored", async () => {
    const gate = Promise.withResolvers<void>();
    const tasks: Task[] = [];
    await using served = startHandler({
      async *agent({ text: input, references }) {
        if (input === "look") {
          tasks.push(...(await references()));
          return;
        }
        yield working();
        if (input === "run") await gate.promise;
      },
    });
    const running = await openStream(served.stream("run"));
    expect(lineOf(running.firstItem)).toBe("task SUBMITTED");
    await settle();
    const ids = [taskOf(running.firstItem.response).id];
    while (ids.length < 20) ids.push(taskOf(await served.send("x")).id);
    await served.send("look", { referenceTaskIds: [...ids.slice(0, 2), ...ids] });
    expect(tasks.map(({ id }) => id)).toEqual(ids.slice(0, 16));
    expect(tasks.slice(0, 2).map(stateOf)).toEqual(["WORKING", "COMPLETED"]);
    gate.resolve();
  });

  it("a turn hides tasks of another owner, and of another tenant of the same owner", async () => {
    const counts: number[] = [];
    await using served = startHandler({
      tenants: ["acme"],
      async agent({ references }) {
        counts.push((await references()).length);
        return completed();
      },
    });
    const { id } = taskOf(await served.send("mine"));
    const refer = { referenceTaskIds: [id, "no such task"] };
    await served.send("look", refer);
    await served.send("look", refer, { principal: { owner: "bob" } });
    await served.send("look", { ...refer, tenant: "acme" });
    expect(counts).toEqual([0, 1, 0, 0]);
  });
});

it("a turn started by a message from its inbox has the caller of that message", async () => {
  const principals: Principal[] = [];
  const gate = Promise.withResolvers<void>();
  await using served = startHandler({
    async *agent({ task, principal }) {
      principals.push(principal);
      yield working();
      if (task === undefined) await gate.promise;
      yield inputRequired();
    },
  });
  const running = await openStream(served.stream("go", {}, { principal: { owner: "alice", from: "desk" } }));
  const { id: taskId } = taskOf(running.firstItem.response);
  const request = say("more", { taskId });
  const text = request.message?.parts ?? [];
  const waiting = served.send(text, { taskId }, { principal: { owner: "alice", from: "phone" } });
  await settle();
  gate.resolve();
  await waiting;
  expect(principals).toEqual([
    { owner: "alice", from: "desk" },
    { owner: "alice", from: "phone" },
  ]);
});
