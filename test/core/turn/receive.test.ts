import { describe, expect, it } from "vitest";
import type { Agent, Turn, TurnAborted } from "../../../src/core/agent.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { artifact, authRequired, completed, inputRequired, reply, working } from "../../../src/protocol/events.js";
import type { Message } from "../../../src/protocol/model.js";
import { beginTask, startHandler } from "../../support/handler.js";
import { heldStore } from "../../support/held-store.js";
import { errorOf, historyOf, openStream, stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const textOf = ({ parts }: Message): string => textIn(parts);

describe("receive", () => {
  it("receive takes waiting messages one at a time, in order of arrival", async () => {
    const gate = Promise.withResolvers<void>();
    const messages: string[] = [];
    await using served = await beginTask({
      async *agent({ receive }) {
        yield working();
        await gate.promise;
        for (let count = 0; count < 3; count++) {
          messages.push(textOf(await receive()));
          yield artifact(messages.at(-1) ?? "", { artifactId: "a" });
        }
      },
    });
    const { taskId } = served;
    const answers = [];
    for (const text of ["one", "two", "three"]) {
      answers.push(served.send(text, { taskId }));
      await settle();
    }
    gate.resolve();
    for (const answer of answers) expect(stateOf(taskOf(await answer))).toBe("COMPLETED");
    expect(messages).toEqual(["one", "two", "three"]);
    expect(historyOf(await served.get(taskId))).toEqual(["user: go", "user: one", "user: two", "user: three"]);
  });

  it("receive rejects after a reply, and makes no task", async () => {
    const refused: unknown[] = [];
    const ids: string[] = [];
    await using served = startHandler({
      async agent({ emit, receive, taskId }) {
        ids.push(taskId);
        await emit(reply("done"));
        await receive().catch((error: unknown) => refused.push(error));
      },
    });
    const { payload } = await served.send("go");
    await settle();
    expect(payload.case).toBe("message");
    expect(refused).toEqual([new TypeError("the task has ended: no message will come")]);
    expect(await errorOf(served.get(ids[0] ?? ""))).toMatchObject({ code: "taskNotFound" });
  });

  it("receive allows one call at a time: a concurrent one rejects, and the first still gets its message", async () => {
    const refused: unknown[] = [];
    const messages: string[] = [];
    await using served = await beginTask({
      async *agent({ receive }) {
        yield inputRequired("?");
        const first = receive();
        await receive().catch((error: unknown) => refused.push(error));
        messages.push(textOf(await first));
      },
    });
    await served.send("one", { taskId: served.taskId });
    expect(messages).toEqual(["one"]);
    expect(refused).toEqual([expect.any(TypeError)]);
  });

  it("receive makes the task when a new turn calls it first, so that callers can send to it", async () => {
    await using served = await beginTask({ agent: async ({ receive }) => completed(textOf(await receive())) });
    const task = taskOf(await served.send("one", { taskId: served.taskId }));
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual(["COMPLETED", "one"]);
  });

  it.each([
    ["INPUT_REQUIRED", inputRequired("?"), ["status INPUT_REQUIRED", "status WORKING", "status COMPLETED"]],
    ["AUTH_REQUIRED", authRequired("?"), ["status AUTH_REQUIRED", "status WORKING", "status COMPLETED"]],
    ["WORKING", working("?"), ["status WORKING", "status COMPLETED"]],
  ])("receive at %s makes the task WORKING by taking a message, unless it is", async (_, event, lines) => {
    await using served = await beginTask({
      async *agent({ emit, receive }) {
        await emit(event);
        await receive();
      },
    });
    const { taskId } = served;
    const snapshot = await openStream(served.subscribe(taskId));
    await served.send("one", { taskId });
    expect([`status ${stateOf(taskOf(snapshot.firstItem.response))}`, ...(await snapshot.readRest())]).toEqual(lines);
    expect(historyOf(await served.get(taskId))).toEqual(["user: go", "agent: ?", "user: one"]);
  });

  it("receive takes no message before earlier events are stored, so that no answer precedes its question", async () => {
    const clock = createVirtualClock();
    const held = heldStore(clock);
    const gate = Promise.withResolvers<void>();
    await using served = await beginTask({
      clock,
      store: held.store,
      limits: { batchMaxEvents: 1 },
      async agent({ emit, receive }) {
        await emit(working());
        await gate.promise;
        for (const text of ["1", "2", "3", "4", "5"]) void emit(artifact(text, { artifactId: "a", append: true }));
        void emit(inputRequired("?"));
        await receive();
      },
    });
    const { taskId } = served;
    const answer = served.send("one", { taskId });
    await settle();
    held.hold();
    gate.resolve();
    for (let batch = 0; batch < 4; batch++) {
      await settle();
      expect(historyOf(await served.get(taskId))).toEqual(["user: go"]);
      await held.releaseOldest();
    }
    held.release();
    await answer;
    const task = await served.get(taskId);
    expect([stateOf(task), textIn(task.artifacts[0]?.parts)]).toEqual(["COMPLETED", "12345"]);
    expect(historyOf(task)).toEqual(["user: go", "agent: ?", "user: one"]);
  });

  it("receive without an answer rejects when the task ends otherwise", async () => {
    const refusal = Promise.withResolvers<unknown>();
    await using served = await beginTask({
      async agent({ emit, receive }) {
        await emit(working());
        receive().catch(refusal.resolve);
        return completed();
      },
    });
    expect(await refusal.promise).toMatchObject({ name: "TypeError", message: expect.stringContaining("ended") });
    expect(await errorOf(served.send("late", { taskId: served.taskId }))).toMatchObject({
      code: "unsupportedOperation",
    });
  });

  it("receive yields to a cancel, which overtakes the waiting messages", async () => {
    const gate = Promise.withResolvers<void>();
    const log: unknown[] = [];
    await using served = await beginTask({
      async *agent({ receive }) {
        yield working();
        await gate.promise;
        log.push(await receive().then(textOf, (error: TurnAborted) => error.kind));
      },
    });
    const { taskId } = served;
    const refused = errorOf(served.send("one", { taskId }));
    await settle();
    const canceled = served.cancel(taskId);
    gate.resolve();
    expect(stateOf(await canceled)).toBe("CANCELED");
    expect(log).toEqual(["Canceled"]);
    expect(await refused).toMatchObject({ code: "unsupportedOperation" });
  });
});

describe("an agent that took a message and then throws an A2AError", () => {
  const refuse = (): never => {
    throw new A2AError("invalidParams", "not so");
  };
  const failing: Agent = async function* ({ task, text, receive }: Turn) {
    if (task === undefined && text === "go") return yield inputRequired("?");
    await receive();
    refuse();
  };

  it("an A2AError before the first event of an agent fails a task that receive made", async () => {
    await using served = await beginTask({
      async agent({ receive }) {
        await receive();
        refuse();
      },
    });
    const { taskId } = served;
    const task = taskOf(await served.send("one", { taskId }));
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual(["FAILED", "not so"]);
    expect(await served.opening.readRest()).toEqual(["status FAILED"]);
  });

  it("an A2AError before the first event of a later turn fails the task, and does not leave it WORKING", async () => {
    await using served = await beginTask({ agent: failing });
    const { taskId } = served;
    const continued = served.send("one", { taskId });
    await settle();
    const answered = served.send("two", { taskId });
    const states = [await continued, await answered].map((answer) => stateOf(taskOf(answer)));
    expect(states).toEqual(["FAILED", "FAILED"]);
    expect((await served.store.head({ agent: "", tenant: "", owner: "alice" }, taskId))?.holder).toBe("");
  });
});
