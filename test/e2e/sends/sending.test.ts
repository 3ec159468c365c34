import {
  artifact,
  authRequired,
  completed,
  data,
  failed,
  file,
  inputRequired,
  type Part,
  Role,
  rejected,
  reply,
  text,
  working,
} from "trivium";
import { expect, it } from "vitest";
import {
  errorOf,
  historyOf,
  messageOf,
  openStream,
  requestOf,
  say,
  stateOf,
  taskOf,
  textIn,
} from "../../support/say.js";
import { overEach, overEveryWire } from "../../support/serve-agent.js";
import { errorOverWire, expectWrong, wiresOf, wiresThat } from "../../support/wires.js";

const untyped = { mediaType: "" };

overEveryWire((start) => {
  // Requirements: V1-EXEC-1
  it("a send waits while the task is working", async () => {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<string>();
    await using served = await start({
      async *agent({ taskId }) {
        yield working();
        reached.resolve(taskId);
        await gate.promise;
        yield artifact("late");
      },
    });
    let answered = false;
    const answer = served.client.sendMessage(say("go"), {}).finally(() => {
      answered = true;
    });
    const id = await reached.promise;
    expect(stateOf(await served.client.getTask(requestOf("getTask", { id }), {}))).toBe("WORKING");
    expect(answered).toBe(false);
    gate.resolve();
    const task = taskOf(await answer);
    expect(stateOf(task)).toBe("COMPLETED");
    expect(task.artifacts).toHaveLength(1);
  });

  it("a negative historyLength is refused, with the field named", async () => {
    await using served = await start({ agent: async () => completed() });
    const error = await errorOf(served.client.sendMessage(say("go", { configuration: { historyLength: -1 } }), {}));
    expectWrong(served.wire, error, "configuration.historyLength");
  });

  // Requirements: V1-SEND-4, V1-STREAM-7, V1-TURN-8
  it("a message to an ended task is refused, however it is sent", async () => {
    await using served = await start({ agent: async () => completed() });
    const { id: taskId } = taskOf(await served.client.sendMessage(say("go"), {}));
    const refused = errorOverWire(served.wire, { code: "unsupportedOperation", metadata: { taskId } });
    expect(await errorOf(served.client.sendMessage(say("more", { taskId }), {}))).toMatchObject(refused);
    expect(await errorOf(served.client.sendStreamingMessage(say("more", { taskId }), {}))).toMatchObject(refused);
  });

  // Requirements: V1-TID-1, V03-SEND-2
  it("each task gets its own id, even if the same message is sent twice", async () => {
    await using served = await start({ agent: async () => completed() });
    const send = async () => taskOf(await served.client.sendMessage(say("go", { messageId: "m" }), {})).id;
    expect(new Set([await send(), await send(), await send()]).size).toBe(3);
  });

  // Requirements: V1-SEND-6, V1-SEC-13
  it("parts of a media type missing from the card are refused before the agent starts", async () => {
    let started = 0;
    const card = { name: "Picky", description: "Takes text", version: "1", defaultInputModes: ["text/plain"] };
    await using served = await start({
      card,
      async agent() {
        started++;
        return completed();
      },
    });
    const parts = [text("fine"), file(new Uint8Array([1]), { mediaType: "image/png" })];
    const error = await errorOf(served.client.sendMessage(say(parts), {}));
    const metadata = { mediaType: "image/png" };
    expect(error).toMatchObject(errorOverWire(served.wire, { code: "contentTypeNotSupported", metadata }));
    expect(await errorOf(served.client.sendStreamingMessage(say(parts), {}))).toMatchObject({ code: error.code });
    expect(started).toBe(0);
    expect(stateOf(taskOf(await served.client.sendMessage(say("text"), {})))).toBe("COMPLETED");
  });
});

overEach(wiresThat("tell the agent's answer"), (start) => {
  // Requirements: V1-SEND-2, V1-CTX-2, V1-CTX-11
  it("a reply is the whole answer: a message with a context and no task", async () => {
    await using served = await start({
      async *agent({ text }) {
        yield reply(`pong ${text}`);
      },
    });
    const message = messageOf(await served.client.sendMessage(say("ping"), {}));
    expect(message).toMatchObject({ role: Role.AGENT, taskId: "" });
    expect(textIn(message.parts)).toBe("pong ping");
    expect(message.messageId).not.toBe("");
    expect(message.contextId).not.toBe("");
    expect((await served.clientOver("in-process").listTasks(requestOf("listTasks"), {})).totalSize).toBe(0);
  });

  // Requirements: V1-EXEC-4
  it("returnImmediately changes nothing for a reply", async () => {
    await using served = await start({ agent: async () => reply("pong") });
    const configuration = { returnImmediately: true };
    expect(textIn(messageOf(await served.client.sendMessage(say("x", { configuration }), {})).parts)).toBe("pong");
  });

  // Requirements: V1-CTX-2, V1-CTX-5, V03-SEND-2
  it("a context id chosen by the caller is kept, and a missing one is generated", async () => {
    await using served = await start({
      async *agent({ text }) {
        yield text === "reply" ? reply("yes") : completed();
      },
    });
    const ownContext = { contextId: "my context" };
    expect(taskOf(await served.client.sendMessage(say("task", ownContext), {}))).toMatchObject(ownContext);
    expect(messageOf(await served.client.sendMessage(say("reply", ownContext), {}))).toMatchObject(ownContext);
    const contextId = taskOf(await served.client.sendMessage(say("task"), {})).contextId;
    expect(contextId).not.toBe("");
    expect(contextId).not.toBe("my context");
  });
});

overEach(wiresThat("tell history unasked"), (start) => {
  // Requirements: V1-SEND-2, V1-EXEC-2, V1-GET-3, V1-TID-2, V1-MSG-2, V1-PART-3, V1-EQ-2, V03-TASK-7
  it("any other event makes a task, which is returned whole when it ends", async () => {
    await using served = await start({
      async *agent({ text }) {
        yield working("on it");
        yield artifact("first", { name: "one" });
        yield artifact(text, { name: "two" });
      },
    });
    const task = taskOf(await served.client.sendMessage(say("second"), {}));
    expect(stateOf(task)).toBe("COMPLETED");
    expect(task.artifacts.map(({ name, parts }) => `${name}: ${textIn(parts)}`)).toEqual(["one: first", "two: second"]);
    expect(new Set(task.artifacts.map(({ artifactId }) => artifactId)).size).toBe(2);
    expect(historyOf(task)).toEqual(["user: second", "agent: on it"]);
    expect(task.history.map(({ taskId, contextId }) => `${taskId} ${contextId}`)).toEqual(
      task.history.map(() => `${task.id} ${task.contextId}`),
    );
    expect(task.status?.timestamp).toBeDefined();
    expect(await served.client.getTask(requestOf("getTask", { id: task.id }), {})).toEqual(task);
  });

  // Requirements: V1-HIST-1, V1-HIST-4, V1-HIST-5, V1-GET-3
  it.each([
    [undefined, 3],
    [0, 0],
    [1, 1],
    [2, 2],
    [50, 3],
  ])("historyLength %s returns the last %s messages, in the answer and in getTask", async (historyLength, count) => {
    await using served = await start({
      async *agent() {
        yield working("one");
        yield working("two");
        yield completed();
      },
    });
    const all = ["user: go", "agent: one", "agent: two"];
    const wanted = count === 0 ? [] : all.slice(-count);
    const configuration = historyLength === undefined ? {} : { historyLength };
    const task = taskOf(await served.client.sendMessage(say("go", { configuration }), {}));
    expect(historyOf(task)).toEqual(wanted);
    const got = await served.client.getTask(requestOf("getTask", { id: task.id, historyLength }), {});
    expect(historyOf(got)).toEqual(wanted);
  });
});

overEach(wiresThat("know every state"), (start) => {
  // Requirements: V1-EXEC-1, V1-CTX-11, V1-INTASK-2
  it.each([
    ["COMPLETED", completed("well")],
    ["FAILED", failed("badly")],
    ["REJECTED", rejected("no")],
    ["INPUT_REQUIRED", inputRequired("which?")],
    ["AUTH_REQUIRED", authRequired("log in at https://login.example")],
  ])("a send is answered at %s, with the status message", async (state, event) => {
    await using served = await start({ agent: async () => event });
    const task = taskOf(await served.client.sendMessage(say("go"), {}));
    expect(stateOf(task)).toBe(state);
    expect(textIn(task.status?.message?.parts)).toBe(textIn(event.status?.message?.parts));
    expect(task.status?.message).toMatchObject({ role: Role.AGENT, taskId: task.id, contextId: task.contextId });
  });
});

overEach(wiresThat("answer at once"), (start) => {
  // Requirements: V1-EXEC-3, V1-SUB-6
  it("returnImmediately answers as soon as the task exists, which then continues", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = await start({
      async agent({ emit }) {
        await gate.promise;
        await emit(artifact("late"));
      },
    });
    const configuration = { returnImmediately: true };
    const task = taskOf(await served.client.sendMessage(say("go", { configuration }), {}));
    expect(stateOf(task)).toBe("SUBMITTED");
    const stream = await openStream(served.client.subscribeToTask(requestOf("subscribeToTask", { id: task.id }), {}));
    gate.resolve();
    await stream.readRest();
    const ended = await served.client.getTask(requestOf("getTask", { id: task.id }), {});
    expect([stateOf(ended), ended.artifacts.length]).toEqual(["COMPLETED", 1]);
  });
});

overEach(wiresThat("say all of a part"), (start) => {
  // Requirements: V1-GEN-6, V1-SEND-7, V1-JSON-3, V1-PART-1, V1-EQ-2, V1-HTTP-9
  it("a message reaches the agent unchanged, and the answer reaches the caller unchanged", async () => {
    const parts: Part[] = [
      text("é😀\u2028", { mediaType: "text/markdown", metadata: { a: [1, null, { b: "c" }] } }),
      text(""),
      file(new Uint8Array([0, 1, 254, 255]), { filename: "a b.bin", mediaType: "application/x-odd" }),
      file("https://files.example/x?y=z#q", { filename: "x" }),
      data({ n: 1.5, deep: { list: [true, null, "s"] } }),
      data(null),
      data([]),
    ];
    const values: unknown[] = [];
    await using served = await start({
      async *agent({ message, metadata, configuration }) {
        values.push(message.metadata, metadata, configuration?.acceptedOutputModes);
        yield artifact(message.parts, { metadata: { of: "artifact" }, extensions: ["urn:x"] });
      },
    });
    const configuration = { acceptedOutputModes: ["text/plain", "application/json"] };
    const request = say(parts, { metadata: { of: "request" }, configuration });
    if (request.message !== undefined) request.message.metadata = { of: "message" };
    const task = taskOf(await served.client.sendMessage(request, {}));
    expect(task.artifacts[0]?.parts).toEqual(parts);
    expect(task.artifacts[0]).toMatchObject({ metadata: { of: "artifact" }, extensions: ["urn:x"] });
    expect(task.history[0]?.parts).toEqual(parts);
    expect(values).toEqual([{ of: "message" }, { of: "request" }, ["text/plain", "application/json"]]);
  });
});

overEach(wiresThat("take ids as they are given"), (start) => {
  // Requirements: V1-SEND-5, V1-TID-4, V1-TID-5, V03-SEND-4
  it("an unknown task id is not found, because callers do not choose ids", async () => {
    let started = 0;
    await using served = await start({
      async agent() {
        started++;
        return completed();
      },
    });
    const error = await errorOf(served.client.sendMessage(say("go", { taskId: "mine" }), {}));
    expect(error).toMatchObject(errorOverWire(served.wire, { code: "taskNotFound", metadata: { taskId: "mine" } }));
    expect(started).toBe(0);
  });
});

overEach(wiresThat("keep ids of messages"), (start) => {
  // Requirements: V03-TRANS-3, V03-SEND-7, V03-GRPC-1
  it("parts that every version can carry reach the agent and the caller unchanged", async () => {
    const parts: Part[] = [
      text("é😀\u2028", { metadata: { a: [1, null, { b: "c" }] } }),
      text(""),
      file(new Uint8Array([0, 1, 254, 255]), { filename: "a b.bin", mediaType: "application/x-odd" }),
      file("https://files.example/x?y=z#q", { filename: "x", mediaType: "text/x" }),
      data({ n: 1.5, deep: { list: [true, null, "s"] } }, untyped),
      data(null, untyped),
      data([1, "a"], untyped),
      data("scalar", { ...untyped, metadata: { of: "part" } }),
    ];
    const values: unknown[] = [];
    await using served = await start({
      async *agent({ message, metadata, configuration }) {
        values.push(message.parts, message.metadata, metadata, configuration?.acceptedOutputModes);
        yield artifact(message.parts, { metadata: { of: "artifact" }, extensions: ["urn:x"] });
      },
    });
    const configuration = { acceptedOutputModes: ["text/plain", "application/json"] };
    const request = say(parts, { metadata: { of: "request" }, configuration });
    if (request.message !== undefined) request.message.metadata = { of: "message" };
    const task = taskOf(await served.client.sendMessage(request, {}));
    expect(task.artifacts[0]?.parts).toEqual(parts);
    expect(task.artifacts[0]).toMatchObject({ metadata: { of: "artifact" }, extensions: ["urn:x"] });
    expect(task.history[0]?.parts).toEqual(parts);
    expect(values).toEqual([parts, { of: "message" }, { of: "request" }, configuration.acceptedOutputModes]);
  });
});

overEach(wiresOf("0.1"), (start) => {
  it("parts that 0.1 can carry reach the agent and the caller unchanged", async () => {
    const parts: Part[] = [
      text("é😀\u2028", { metadata: { a: [1, null, { b: "c" }] } }),
      file(new Uint8Array([0, 1, 254, 255]), { filename: "a b.bin", mediaType: "application/x-odd" }),
      file("https://files.example/x?y=z#q", { filename: "x", mediaType: "text/x" }),
      data({ n: 1.5, deep: { list: [true, null, "s"] } }, untyped),
      data([1, "a"], untyped),
    ];
    const values: unknown[] = [];
    await using served = await start({
      async *agent({ message, metadata, configuration }) {
        values.push(message.parts, metadata, configuration?.acceptedOutputModes);
        yield artifact(message.parts, { name: "copy", metadata: { of: "artifact" } });
      },
    });
    const configuration = { acceptedOutputModes: ["text/plain", "application/json"], historyLength: 1 };
    const task = taskOf(
      await served.client.sendMessage(say(parts, { metadata: { of: "request" }, configuration }), {}),
    );
    expect(task.artifacts).toMatchObject([{ name: "copy", parts, metadata: { of: "artifact" } }]);
    expect(task.history[0]?.parts).toEqual(parts);
    expect(values).toEqual([parts, { of: "request" }, configuration.acceptedOutputModes]);
  });

  it("a reply is the message of a completed task under the caller's task name", async () => {
    await using served = await start({ agent: async ({ text }) => reply(`pong ${text}`) });
    const task = taskOf(await served.client.sendMessage(say("ping", { taskId: "a name", contextId: "a session" }), {}));
    expect([task.id, task.contextId, stateOf(task)]).toEqual(["a name", "a session", "COMPLETED"]);
    expect(textIn(task.status?.message?.parts)).toBe("pong ping");
    expect(await served.client.getTask(requestOf("getTask", { id: "a name", historyLength: 0 }), {})).toEqual(task);
    const { tasks } = await served.clientOver("in-process").listTasks(requestOf("listTasks"), {});
    expect(tasks.map(stateOf)).toEqual(["COMPLETED"]);
    expect(tasks[0]?.id).not.toBe("a name");
  });

  it.each([
    ["FAILED", rejected("no")],
    ["INPUT_REQUIRED", authRequired("log in at https://login.example")],
  ])("a state unknown to 0.1 arrives as %s, with its message", async (state, event) => {
    await using served = await start({ agent: async () => event });
    const task = taskOf(await served.client.sendMessage(say("go"), {}));
    expect([stateOf(task), textIn(task.status?.message?.parts)]).toEqual([state, textIn(event.status?.message?.parts)]);
  });
});
