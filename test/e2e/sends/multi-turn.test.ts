import { A2AError, artifact, authRequired, completed, inputRequired, type Task, working } from "trivium";
import { expect, it } from "vitest";
import { errorOf, historyOf, linesOf, openStream, requestOf, say, stateOf, taskOf, textIn } from "../../support/say.js";
import { overEach, overEveryWire } from "../../support/serve-agent.js";
import { expectWrong, wiresThat } from "../../support/wires.js";

overEveryWire((start) => {
  it("an agent that waits gets the answer in the same turn", async () => {
    let turns = 0;
    await using served = await start({
      async *agent({ ask, text }) {
        turns++;
        const size = await ask(inputRequired("Size?"));
        const colour = await ask(inputRequired("Colour?"));
        yield artifact([text, textIn(size.parts), textIn(colour.parts)].join("/"));
      },
    });
    const { id: taskId } = taskOf(await served.client.sendMessage(say("shirt"), {}));
    const second = taskOf(await served.client.sendMessage(say("L", { taskId }), {}));
    expect([stateOf(second), textIn(second.status?.message?.parts)]).toEqual(["INPUT_REQUIRED", "Colour?"]);
    const third = taskOf(await served.client.sendMessage(say("red", { taskId }), {}));
    expect([stateOf(third), textIn(third.artifacts[0]?.parts)]).toEqual(["COMPLETED", "shirt/L/red"]);
    expect(turns).toBe(1);
  });

  // Requirements: V1-INTASK-7, V03-AUTH-4
  it("a task at AUTH_REQUIRED takes messages as well", async () => {
    await using served = await start({
      async *agent({ ask }) {
        const answer = await ask(authRequired("log in"));
        yield completed(`so: ${textIn(answer.parts)}`);
      },
    });
    const { id: taskId } = taskOf(await served.client.sendMessage(say("go"), {}));
    const task = taskOf(await served.client.sendMessage(say("I will not", { taskId }), {}));
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual(["COMPLETED", "so: I will not"]);
  });

  // Requirements: V1-CTX-4, V1-TURN-3, V1-TURN-4
  it("a message to a task takes the task's context, and another context is refused", async () => {
    let turns = 0;
    await using served = await start({
      async *agent() {
        turns++;
        yield inputRequired("more?");
      },
    });
    const { id: taskId, contextId } = taskOf(await served.client.sendMessage(say("go"), {}));
    expect(taskOf(await served.client.sendMessage(say("1", { taskId }), {})).contextId).toBe(contextId);
    expect(taskOf(await served.client.sendMessage(say("2", { taskId, contextId }), {})).contextId).toBe(contextId);
    const other = say("3", { taskId, contextId: "another" });
    for (const call of [served.client.sendMessage(other, {}), served.client.sendStreamingMessage(other, {})]) {
      expectWrong(served.wire, await errorOf(call), "message.contextId");
    }
    expect(turns).toBe(3);
  });

  // Requirements: V1-CTX-8, V1-TURN-7
  it("a known context without a task starts a new task in it", async () => {
    await using served = await start({ agent: async () => inputRequired("more?") });
    const first = taskOf(await served.client.sendMessage(say("go"), {}));
    const { contextId } = first;
    const second = taskOf(await served.client.sendMessage(say("go on", { contextId }), {}));
    expect(second.contextId).toBe(contextId);
    expect(second.id).not.toBe(first.id);
  });

  it("an error before the first event of a later turn is its answer, and the task keeps its state and the message", async () => {
    await using served = await start({
      async *agent({ task, text }) {
        if (task === undefined) return yield inputRequired("a number?");
        if (text === "x") throw new A2AError("invalidParams", "that is no number");
        yield completed();
      },
    });
    const { id: taskId } = taskOf(await served.client.sendMessage(say("go"), {}));
    for (const call of [
      served.client.sendMessage(say("x", { taskId }), {}),
      served.client.sendStreamingMessage(say("x", { taskId }), {}),
    ]) {
      expect(await errorOf(call)).toMatchObject({ code: "invalidParams", message: "that is no number" });
    }
    const task = await served.client.getTask(requestOf("getTask", { id: taskId }), {});
    expect(stateOf(task)).toBe("INPUT_REQUIRED");
    expect(historyOf(task)).toEqual(["user: go", "agent: a number?", "user: x", "user: x"]);
    expect(stateOf(taskOf(await served.client.sendMessage(say("7", { taskId }), {})))).toBe("COMPLETED");
  });
});

overEach(wiresThat("tell history unasked"), (start) => {
  // Requirements: V1-MSG-3
  it("an agent that returned after asking is started again by the answer, with its task", async () => {
    const turns: string[] = [];
    await using served = await start({
      async *agent({ task, text, history }) {
        turns.push(`${task === undefined ? "new" : stateOf(task)} ${(await history()).length}`);
        if (task === undefined) return yield inputRequired("Which one?");
        yield artifact(`took ${text}`);
      },
    });
    const first = taskOf(await served.client.sendMessage(say("book"), {}));
    expect(stateOf(first)).toBe("INPUT_REQUIRED");
    const last = taskOf(await served.client.sendMessage(say("the blue one", { taskId: first.id }), {}));
    expect([last.id, last.contextId, stateOf(last)]).toEqual([first.id, first.contextId, "COMPLETED"]);
    expect(historyOf(last)).toEqual(["user: book", "agent: Which one?", "user: the blue one"]);
    expect(textIn(last.artifacts[0]?.parts)).toBe("took the blue one");
    expect(turns).toEqual(["new 1", "INPUT_REQUIRED 3"]);
  });
});

overEach(wiresThat("begin streams with the task"), (start) => {
  it("the stream of a continued task shows WORKING, then what follows", async () => {
    await using served = await start({
      async *agent({ task, ask }) {
        if (task === undefined) return yield inputRequired("more?");
        yield artifact("a", { artifactId: "x" });
        await ask(inputRequired("even more?"));
      },
    });
    const { id: taskId } = taskOf(await served.client.sendMessage(say("go"), {}));
    expect(await linesOf(served.client.sendStreamingMessage(say("one", { taskId }), {}))).toEqual([
      "task INPUT_REQUIRED",
      "status WORKING",
      'artifact x "a"',
      "status INPUT_REQUIRED",
    ]);
    expect(await linesOf(served.client.sendStreamingMessage(say("two", { taskId }), {}))).toEqual([
      "task INPUT_REQUIRED",
      "status WORKING",
      "status COMPLETED",
    ]);
  });
});

overEach(wiresThat("answer at once"), (start) => {
  // Requirements: V1-EXEC-3
  it("returnImmediately on a waiting task answers at once, with the message taken", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = await start({
      async *agent({ task }) {
        if (task === undefined) return yield inputRequired("more?");
        await gate.promise;
        yield completed();
      },
    });
    const { id: taskId } = taskOf(await served.client.sendMessage(say("go"), {}));
    const configuration = { returnImmediately: true };
    const at = taskOf(await served.client.sendMessage(say("here", { taskId, configuration }), {}));
    expect(historyOf(at)).toEqual(["user: go", "agent: more?", "user: here"]);
    const stream = await openStream(served.client.subscribeToTask(requestOf("subscribeToTask", { id: taskId }), {}));
    gate.resolve();
    expect((await stream.readRest()).at(-1)).toBe("status COMPLETED");
  });
});

overEach(wiresThat("know every state"), (start) => {
  // Requirements: V1-SUB-6, V1-INTASK-1, V1-INTASK-3, V1-INTASK-4, V1-INTASK-13
  it("a task at AUTH_REQUIRED continues when the credential arrives out of band", async () => {
    const granted = Promise.withResolvers<void>();
    await using served = await start({
      async *agent() {
        yield authRequired("grant it at https://login.example");
        await granted.promise;
        yield working();
        yield artifact("done", { artifactId: "x" });
      },
    });
    const task = taskOf(await served.client.sendMessage(say("go"), {}));
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual([
      "AUTH_REQUIRED",
      "grant it at https://login.example",
    ]);
    const stream = await openStream(served.client.subscribeToTask(requestOf("subscribeToTask", { id: task.id }), {}));
    granted.resolve();
    expect(await stream.readRest()).toEqual(["status WORKING", 'artifact x "done"', "status COMPLETED"]);
  });
});

overEach(wiresThat("refer to tasks"), (start) => {
  // Requirements: V1-TURN-6
  it("the agent sees the referenced tasks that exist", async () => {
    const tasks: Task[] = [];
    await using served = await start({
      async *agent({ text, references }) {
        tasks.push(...(await references()));
        yield artifact(text);
      },
    });
    const first = taskOf(await served.client.sendMessage(say("one"), {}));
    const referenceTaskIds = [first.id, "none", first.id];
    await served.client.sendMessage(say("two", { contextId: first.contextId, referenceTaskIds }), {});
    expect(tasks.map(({ id, artifacts }) => `${id} ${textIn(artifacts[0]?.parts)}`)).toEqual([`${first.id} one`]);
  });

  // Requirements: V1-TURN-8, V1-TURN-9
  it("refining an artifact in a new task leaves the original unchanged", async () => {
    await using served = await start({
      async *agent({ text }) {
        yield artifact(text, { name: "poem" });
      },
    });
    const first = taskOf(await served.client.sendMessage(say("rough"), {}));
    const refer = { contextId: first.contextId, referenceTaskIds: [first.id] };
    const second = taskOf(await served.client.sendMessage(say("fine", refer), {}));
    expect(second.artifacts[0]?.name).toBe("poem");
    expect(await served.client.getTask(requestOf("getTask", { id: first.id }), {})).toEqual(first);
  });
});
