import { inspect } from "node:util";
import {
  type AgentEvent,
  answerOf,
  artifact,
  authRequired,
  completed,
  data,
  eventOf,
  failed,
  file,
  fromJson,
  inputRequired,
  type Message,
  rejected,
  reply,
  text,
  working,
} from "trivium";
import { describe, expect, it } from "vitest";
import type { Answer } from "../../../src/client/answer/answer.js";
import { served, ways } from "./scene.js";

const bytes = Uint8Array.of(1, 2, 3);
const report = { title: "Tides", levels: [1.5, 2] };

/** What the agent does for each text that it gets. */
const scripts: Readonly<Record<string, () => Iterable<AgentEvent>>> = {
  *"two artifacts"() {
    yield working("on it");
    yield artifact("one ", { artifactId: "a", name: "First" });
    yield artifact("more", { artifactId: "a", append: true });
    yield artifact([text("two"), data(report), file(bytes, { filename: "b.bin", mediaType: "x/y" })], {
      artifactId: "b",
    });
    yield completed("done");
  },
  *"only a status"() {
    yield artifact(data(report), { artifactId: "a" });
    yield completed("all booked");
  },
  *failing() {
    yield artifact("half", { artifactId: "a" });
    yield failed("the sea is closed");
  },
  *"failing silently"() {
    yield artifact("half", { artifactId: "a" });
    yield failed();
  },
  *rejecting() {
    yield rejected("not today");
  },
  *asking() {
    yield artifact("so far", { artifactId: "a" });
    yield inputRequired("when?");
  },
  *"asking for access"() {
    yield authRequired("log in");
  },
  *hello() {
    yield reply([text("good "), text("morning"), data({ at: 7 }), file("https://files.example/a.txt")]);
  },
};

async function* agent({ text: prompt }: { readonly text: string }) {
  yield* scripts[prompt]?.() ?? [reply(`you said ${prompt}`)];
}

describe.each(ways)("an answer, %s", (way) => {
  async function answerTo(prompt: string): Promise<Answer> {
    await using scene = await served(way, agent);
    return await scene.client.send(prompt);
  }

  it("the answer of a completed task has the text of its artifacts, with a blank line between them", async () => {
    const answer = await answerTo("two artifacts");
    const files = [{ name: "b.bin", mediaType: "x/y", url: undefined, bytes: expect.any(Function) }];
    expect(answer.text).toBe("one more\n\ntwo");
    expect([answer.statusText, answer.state, answer.ok]).toEqual(["done", "completed", true]);
    expect(answer.artifacts).toEqual([
      { id: "a", name: "First", text: "one more", data: undefined, files: [] },
      { id: "b", name: "", text: "two", data: report, files },
    ]);
    expect(answer.data()).toEqual(report);
    expect(answer.files).toEqual(files);
    expect(answer.files[0]?.bytes()).toEqual(bytes);
    expect(answer.task?.artifacts).toHaveLength(2);
    expect([answer.taskId, answer.contextId]).toEqual([answer.task?.id, answer.task?.contextId]);
    expect(answer.message).toBeUndefined();
  });

  it("the answer of a completed task without text in its artifacts has that of its status message", async () => {
    const answer = await answerTo("only a status");
    expect([answer.text, answer.statusText, answer.data()]).toEqual(["all booked", "all booked", report]);
  });

  it.each([
    ["failing", "failed", "the sea is closed"],
    ["failing silently", "failed", "half"],
    ["rejecting", "rejected", "not today"],
    ["asking", "input-required", "when?"],
    ["asking for access", "auth-required", "log in"],
  ])(
    "the answer of a task that is not completed has the text of its status, else of its artifacts: %s",
    async (prompt, state, t) => {
      const answer = await answerTo(prompt);
      expect([answer.state, answer.text, answer.ok]).toEqual([state, t, false]);
    },
  );

  it("an answer that is a direct reply has its text, data and files, and no task", async () => {
    const answer = await answerTo("hello");
    expect([answer.state, answer.text, answer.ok, answer.data()]).toEqual(["message", "good morning", true, { at: 7 }]);
    expect(answer.files).toMatchObject([{ url: "https://files.example/a.txt" }]);
    expect([answer.task, answer.taskId, answer.statusText, answer.artifacts]).toEqual([undefined, "", "", []]);
    expect(answer.message?.parts).toHaveLength(4);
    expect(answer.contextId).toBe(answer.message?.contextId);
  });

  it("the answer of a task that still works says so", async () => {
    await using scene = await served(way, async function* ({ signal }) {
      yield working("reading");
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    });
    const answer = await scene.client.send("go", { configuration: { returnImmediately: true } });
    expect(["submitted", "working"]).toContain(answer.state);
    expect(answer.ok).toBe(false);
    await scene.client.cancelTask({ id: answer.taskId });
    expect((await scene.client.wait(answer.taskId)).state).toBe("canceled");
  });

  it("an answer is the protocol's JSON, from which it can be made again", async () => {
    for (const prompt of ["two artifacts", "asking", "failing"]) {
      const answer = await answerTo(prompt);
      const json = JSON.parse(JSON.stringify(answer));
      expect(Object.keys(json)).toEqual(["task"]);
      expect(json.task).toMatchObject({ id: answer.taskId, contextId: answer.contextId });
      expect(json.task.status.state).toBe(`TASK_STATE_${answer.state.toUpperCase().replace("-", "_")}`);
      expect(answerOf(fromJson("Task", json.task)).task).toEqual(answer.task);
    }
    const answer = await answerTo("hello");
    const json = JSON.parse(JSON.stringify(answer));
    expect(json).toMatchObject({ message: { role: "ROLE_AGENT", parts: [{ text: "good " }, {}, {}, {}] } });
    expect(answerOf(fromJson("Message", json.message))).toMatchObject({ text: answer.text, state: "message" });
  });

  it("an answer is printed in plain words", async () => {
    const printed = inspect(await answerTo("two artifacts"), { depth: 5 });
    expect(printed).toContain("Answer {");
    expect(printed).toContain("state: 'completed'");
    expect(printed).toContain("text: 'one more\\n\\ntwo'");
    expect(printed).toContain("name: 'First'");
    expect(printed).not.toMatch(/\$typeName|case:|\d+n\b/);
    expect(inspect(await answerTo("hello"))).toContain("text: 'good morning'");
  });
});

describe("continuing", () => {
  /** Asks twice, then completes; says where each message arrived. */
  const asking: Parameters<typeof served>[1] = async function* ({ text: prompt, task, contextId }) {
    if (prompt === "hi") yield reply(`hi in ${contextId}`);
    else if (prompt === "book") yield inputRequired("when?");
    else yield completed(`${prompt} in ${task === undefined ? "a new task" : "the same task"}`);
  };

  it.each(ways)(
    "a send that continues an answer goes on with a task that asks, else with its context: %s",
    async (way) => {
      await using scene = await served(way, asking);
      const { client } = scene;
      const question = await client.send("book");
      const booked = await client.send("Tuesday", { continue: question });
      expect([booked.taskId, booked.text]).toEqual([question.taskId, "Tuesday in the same task"]);
      const next = await client.send("thanks", { continue: booked });
      expect([next.contextId, next.text]).toEqual([booked.contextId, "thanks in a new task"]);
      expect(next.taskId).not.toBe(booked.taskId);
      const streamed = await client.stream("bye", { continue: next }).answer;
      expect([streamed.contextId, streamed.text]).toEqual([booked.contextId, "bye in a new task"]);
      const greeted = await client.send("hi", { continue: streamed });
      expect(greeted.text).toBe(`hi in ${booked.contextId}`);
      expect((await client.send("hi", { continue: greeted })).contextId).toBe(booked.contextId);
    },
  );

  it("a send continues from ids that were stored", async () => {
    await using scene = await served("in process", asking);
    const { client } = scene;
    const { taskId, contextId } = await client.send("book");
    const reference = JSON.parse(JSON.stringify({ taskId, contextId }));
    const booked = await client.send("Tuesday", { continue: reference });
    expect([booked.taskId, booked.contextId]).toEqual([taskId, contextId]);
    expect((await client.send("hi", { continue: { contextId } })).text).toBe(`hi in ${contextId}`);
    const refused = client.send("again", { continue: reference });
    await expect(refused).rejects.toMatchObject({ code: "unsupportedOperation" });
  });

  it("a send that continues an answer is a new message when the agent named no context", async () => {
    await using scene = await served("in process", asking);
    const before = answerOf({ ...(await scene.client.send("hi")).message, contextId: "", taskId: "" } as Message);
    const answer = await scene.client.send("hi", { continue: before });
    expect(answer.contextId).not.toBe("");
  });

  it.each([
    [{ continue: "id" }, "continue must be an object, not a value of type string"],
    [{ continue: { taskId: "t" } }, "continue has no contextId: give an answer, or the ids of one"],
    [{ continue: { contextId: 7 } }, "continue.contextId must be a string, not a value of type number"],
    [{ continue: { taskId: 7, contextId: "c" } }, "continue.taskId must be a string, not a value of type number"],
    [{ task: { id: "t", contextId: "c" } }, "task cannot be given: write continue: answer"],
    [{ contextId: "c" }, "contextId cannot be given: write continue: { contextId }"],
    [{ mesageId: "m" }, "mesageId cannot be given: did you mean messageId?"],
  ])("a send refuses to continue %j", async (options, message) => {
    await using scene = await served("in process", asking);
    const wrong = options as Parameters<typeof scene.client.send>[1];
    await expect(scene.client.send("hi", wrong)).rejects.toThrow(message);
    expect(() => scene.client.stream("hi", wrong)).toThrow(TypeError);
  });
});

describe("eventOf", () => {
  it("eventOf makes the events of a stream of their JSON", async () => {
    await using scene = await served("JSONRPC", agent);
    for await (const event of scene.client.stream("two artifacts")) {
      const copy = eventOf(fromJson("StreamResponse", JSON.parse(JSON.stringify(event))));
      expect(inspect(copy)).toBe(inspect(eventOf(event.response)));
      expect(copy).toMatchObject({ type: event.type, id: undefined, response: event.response });
    }
  });

  it("eventOf gives nothing for an event of a kind that it does not know", () => {
    expect(eventOf({ $typeName: "lf.a2a.v1.StreamResponse", payload: { case: undefined } })).toBeUndefined();
  });
});

describe("answerOf", () => {
  it("answerOf makes an answer of what operations give", async () => {
    await using scene = await served("JSONRPC", agent);
    const { client } = scene;
    const result = await client.sendMessage({ message: { parts: [text("two artifacts")] } });
    expect(answerOf(result).text).toBe("one more\n\ntwo");
    const { tasks } = await client.listTasks({ includeArtifacts: true });
    expect(tasks.map((task) => answerOf(task).text)).toEqual(["one more\n\ntwo"]);
    expect(answerOf(await client.getTask({ id: tasks[0]?.id ?? "" })).artifacts).toHaveLength(2);
  });

  it.each([null, undefined, "task", {}, { task: {} }])("answerOf refuses %j", (value) => {
    expect(() => answerOf(value as never)).toThrow(/answerOf\(\) takes a task, a message/);
  });
});
