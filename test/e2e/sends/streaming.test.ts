import { artifact, authRequired, completed, inputRequired, rejected, reply, streamArtifact, working } from "trivium";
import { expect, it } from "vitest";
import { itemsOf } from "../../support/items.js";
import {
  errorOf,
  lineOf,
  linesOf,
  openStream,
  readUntil,
  requestOf,
  say,
  stateOf,
  taskOf,
  textIn,
} from "../../support/say.js";
import { overEach, overEveryWire } from "../../support/serve-agent.js";
import { closingLines, wiresOf, wiresThat } from "../../support/wires.js";

const subscribe = (id: string) => requestOf("subscribeToTask", { id });

overEveryWire((start) => {
  // Requirements: V1-STREAM-6, V1-SUB-5, V1-CAP-1
  it("an agent whose card turns streaming off answers both streams with unsupportedOperation", async () => {
    const card = { name: "Plain", description: "Does not stream", version: "1", capabilities: { streaming: false } };
    await using served = await start({ card, agent: async () => inputRequired("more?") });
    // The client would refuse to ask.
    const { id } = taskOf(await served.client.sendMessage(say("go"), {}));
    expect(await errorOf(served.transport.sendStreamingMessage(say("go"), {}))).toMatchObject({
      code: "unsupportedOperation",
    });
    expect(await errorOf(served.transport.subscribeToTask(subscribe(id), {}))).toMatchObject({
      code: "unsupportedOperation",
    });
  });

  // Requirements: V1-STREAM-8, V1-STREAM-9
  it("a token stream of thousands of chunks arrives whole, and is stored as one text", async () => {
    const tokens = Array.from({ length: 3000 }, (_, index) => `t${index} `);
    await using served = await start({
      async *agent() {
        yield* streamArtifact(tokens);
      },
    });
    let read = "";
    let id = "";
    for await (const { response } of served.client.sendStreamingMessage(say("x"), {})) {
      if (response.payload.case === "task") id = response.payload.value.id;
      if (response.payload.case === "artifactUpdate") read += textIn(response.payload.value.artifact?.parts);
    }
    expect(read).toBe(tokens.join(""));
    const task = await served.client.getTask(requestOf("getTask", { id }), {});
    expect(task.artifacts.map(({ parts }) => parts.length)).toEqual([1]);
    expect(textIn(task.artifacts[0]?.parts)).toBe(tokens.join(""));
  });

  // Requirements: V1-HIST-1
  it("historyLength holds for the task in a stream", async () => {
    await using served = await start({ agent: async () => completed() });
    const configuration = { historyLength: 0 };
    const stream = await openStream(served.client.sendStreamingMessage(say("x", { configuration }), {}));
    expect(taskOf(stream.firstItem.response).history).toEqual([]);
    await stream.readRest();
  });
});

overEach(wiresThat("tell the agent's answer"), (start) => {
  // Requirements: V1-STREAM-2
  it("the stream of a reply is one message, then its end", async () => {
    await using served = await start({ agent: async () => reply("pong") });
    expect(await linesOf(served.client.sendStreamingMessage(say("x"), {}))).toEqual(['message "pong"']);
  });
});

overEach(wiresThat("begin streams with the task"), (start) => {
  // Requirements: V1-STREAM-1, V1-STREAM-3, V1-STREAM-4, V1-STREAM-8, V1-EQ-2, V1-GRPC-3, V1-HTTP-8, V03-TASK-6
  // Requirements: V03-SSE-6
  it("the stream of a task begins with the task, then gives every event in order, then ends", async () => {
    await using served = await start({
      async *agent() {
        yield working();
        yield artifact("a", { artifactId: "x" });
        yield artifact("b", { artifactId: "x", append: true });
        yield artifact("c", { artifactId: "x", append: true, lastChunk: true });
        yield artifact("whole", { artifactId: "y" });
        yield completed();
      },
    });
    expect(await linesOf(served.client.sendStreamingMessage(say("x"), {}))).toEqual([
      "task SUBMITTED",
      "status WORKING",
      'artifact x "a"',
      'artifact x "b" append',
      'artifact x "c" append last',
      'artifact y "whole"',
      "status COMPLETED",
    ]);
  });

  // Requirements: V1-STREAM-16
  it.each([
    ["REJECTED", () => rejected("no")],
    ["INPUT_REQUIRED", () => inputRequired("more?")],
  ])("a stream whose first event is %s ends with it", async (state, event) => {
    await using served = await start({ agent: async () => event() });
    expect(await linesOf(served.client.sendStreamingMessage(say("x"), {}))).toEqual([
      "task SUBMITTED",
      `status ${state}`,
    ]);
  });
});

overEach(wiresThat("know every state"), (start) => {
  it("a stream ends when the agent returns at AUTH_REQUIRED", async () => {
    await using served = await start({ agent: async () => authRequired("log in") });
    expect(await linesOf(served.client.sendStreamingMessage(say("x"), {}))).toEqual([
      "task SUBMITTED",
      "status AUTH_REQUIRED",
      ...closingLines(served.wire, "AUTH_REQUIRED"),
    ]);
  });

  // Requirements: V1-STREAM-16, V1-INTASK-5
  it("the stream stays open at AUTH_REQUIRED while the agent waits for the credential", async () => {
    const granted = Promise.withResolvers<void>();
    await using served = await start({
      async *agent() {
        yield authRequired("grant it at https://login.example");
        await granted.promise;
        yield working();
        yield completed();
      },
    });
    const stream = await openStream(served.client.sendStreamingMessage(say("x"), {}));
    const [waiting] = await readUntil(stream.iterator, () => true);
    expect(waiting && lineOf(waiting)).toBe("status AUTH_REQUIRED");
    granted.resolve();
    expect(await stream.readRest()).toEqual(["status WORKING", "status COMPLETED"]);
  });
});

overEach(wiresThat("keep ids of artifacts"), (start) => {
  // Requirements: V1-STREAM-5
  it("each event is sent before the next one is made", async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    await using served = await start({
      async *agent() {
        yield working();
        await gates[0].promise;
        yield artifact("half", { artifactId: "x" });
        await gates[1].promise;
      },
    });
    const stream = await openStream(served.client.sendStreamingMessage(say("x"), {}));
    await readUntil(stream.iterator, (line) => line === "status WORKING");
    gates[0].resolve();
    await readUntil(stream.iterator, (line) => line === 'artifact x "half"');
    gates[1].resolve();
    expect(await stream.readRest()).toEqual(["status COMPLETED"]);
  });

  // Requirements: V1-STREAM-13, V1-STREAM-14
  it("a reader that leaves affects no other, and the task continues without any stream", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = await start({
      async *agent() {
        yield working();
        await gate.promise;
        yield artifact("done", { artifactId: "x" });
      },
    });
    const stream = await openStream(served.client.sendStreamingMessage(say("x"), {}));
    const { id } = taskOf(stream.firstItem.response);
    const left = await openStream(served.client.subscribeToTask(subscribe(id), {}));
    const stays = await openStream(served.client.subscribeToTask(subscribe(id), {}));
    await stream.iterator.return?.();
    await left.iterator.return?.();
    gate.resolve();
    const rest = await stays.readRest();
    expect(rest.filter((line) => line !== "status WORKING")).toEqual(['artifact x "done"', "status COMPLETED"]);
    const task = await served.client.getTask(requestOf("getTask", { id }), {});
    expect([stateOf(task), task.artifacts.length]).toEqual(["COMPLETED", 1]);
  });
});

overEach(wiresThat("answer at once"), (start) => {
  // Requirements: V1-STREAM-11, V1-STREAM-12, V1-SUB-1
  it("a subscriber sees the current task at any time, then the same events in the same order", async () => {
    const steps = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
    await using served = await start({
      async *agent() {
        for (const [index, step] of steps.entries()) {
          await step.promise;
          yield artifact(`${index}`, { artifactId: "x", append: index > 0 });
        }
      },
    });
    const configuration = { returnImmediately: true };
    const { id } = taskOf(await served.client.sendMessage(say("x", { configuration }), {}));
    const streams = [];
    for (const [index, step] of steps.entries()) {
      const late = await openStream(served.client.subscribeToTask(subscribe(id), {}));
      const have = textIn(taskOf(late.firstItem.response).artifacts[0]?.parts);
      expect(have).toBe("012345".slice(0, have.length));
      streams.push({ late, have });
      step.resolve();
      for (const each of streams)
        await readUntil(each.late.iterator, (line) => line.startsWith(`artifact x "${index}"`));
    }
    for (const { late } of streams) expect(await late.readRest()).toEqual(["status COMPLETED"]);
    expect(streams.map(({ have }) => have)).toEqual(["", "0", "01", "012", "0123", "01234"]);
  });
});

overEach(wiresThat("watch beyond a question"), (start) => {
  // Requirements: V1-SUB-1, V1-SUB-2, V1-SUB-6
  it("a subscription outlives INPUT_REQUIRED and the turn that asked, and ends with the task", async () => {
    await using served = await start({
      async *agent({ task }) {
        yield task === undefined ? inputRequired("more?") : completed("thanks");
      },
    });
    const { id: taskId } = taskOf(await served.client.sendMessage(say("go"), {}));
    const stream = await openStream(served.client.subscribeToTask(subscribe(taskId), {}));
    expect(stateOf(taskOf(stream.firstItem.response))).toBe("INPUT_REQUIRED");
    await served.client.sendMessage(say("here", { taskId }), {});
    expect(await stream.readRest()).toEqual(["status COMPLETED"]);
  });
});

overEach(wiresThat("refuse to watch what has ended"), (start) => {
  // Requirements: V1-SUB-3, V1-SUB-4
  it("a subscription to a finished task is refused, and to an unknown one not found", async () => {
    await using served = await start({ agent: async () => completed() });
    const { id } = taskOf(await served.client.sendMessage(say("go"), {}));
    expect(await errorOf(served.client.subscribeToTask(subscribe(id), {}))).toMatchObject({
      code: "unsupportedOperation",
    });
    expect(await errorOf(served.client.subscribeToTask(subscribe("none"), {}))).toMatchObject({ code: "taskNotFound" });
  });
});

overEach(wiresOf("0.3", "0.2", "0.1"), (start) => {
  // Requirements: V03-TASK-3, V03-SSE-14
  it("a subscription to a finished task returns only that task, and to an unknown one not found", async () => {
    await using served = await start({ agent: async () => completed() });
    const { id } = taskOf(await served.client.sendMessage(say("go"), {}));
    const lines = await linesOf(served.client.subscribeToTask(subscribe(id), {}));
    expect(lines).toEqual(["task COMPLETED", ...closingLines(served.wire, "COMPLETED")]);
    expect(await errorOf(served.client.subscribeToTask(subscribe("none"), {}))).toMatchObject({ code: "taskNotFound" });
  });
});

overEach(wiresOf("0.1"), (start) => {
  it("the stream of 0.1 has every event in order, with artifacts by index, and ends", async () => {
    await using served = await start({
      async *agent() {
        yield working();
        yield artifact("a", { artifactId: "x" });
        yield artifact("b", { artifactId: "x", append: true });
        yield artifact("c", { artifactId: "x", append: true, lastChunk: true });
        yield artifact("whole", { artifactId: "y" });
        yield completed();
      },
    });
    expect(await linesOf(served.client.sendStreamingMessage(say("x"), {}))).toEqual([
      "task SUBMITTED",
      "status SUBMITTED",
      "status WORKING",
      'artifact 0 "a"',
      'artifact 0 "b" append',
      'artifact 0 "c" append last',
      'artifact 1 "whole"',
      "status COMPLETED",
    ]);
  });

  it("the stream of a reply is the stream of a completed task", async () => {
    await using served = await start({ agent: async () => reply("pong") });
    const items = await itemsOf(served.client.sendStreamingMessage(say("x"), {}));
    expect(items.map(lineOf)).toEqual(["task SUBMITTED", "status SUBMITTED", "status COMPLETED"]);
    const last = items.at(-1)?.response.payload;
    expect(last?.case === "statusUpdate" && textIn(last.value.status?.message?.parts)).toBe("pong");
  });

  it("a stream or subscription ends when the task waits for input", async () => {
    await using served = await start({ agent: async () => inputRequired("more?") });
    const stream = await openStream(served.client.sendStreamingMessage(say("x"), {}));
    const { id } = taskOf(stream.firstItem.response);
    expect(await stream.readRest()).toEqual(["status SUBMITTED", "status INPUT_REQUIRED"]);
    const lines = await linesOf(served.client.subscribeToTask(subscribe(id), {}));
    expect([lines[0], lines.at(-1)]).toEqual(["task INPUT_REQUIRED", "status INPUT_REQUIRED"]);
  });
});
