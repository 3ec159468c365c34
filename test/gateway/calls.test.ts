import { A2AError, type Task } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { itemsOf } from "../support/items.js";
import { errorOf, lineOf, linesOf, openStream, requestOf, say, stateOf, taskOf, textIn } from "../support/say.js";
import { bindings, type Scene, startScene } from "./scene.js";

const chunkLines = [
  "task SUBMITTED",
  "status WORKING",
  'artifact a "one"',
  'artifact a "two" append',
  'artifact a "three" append',
  "status COMPLETED",
];

describe.each(bindings)("in front of an agent that speaks %s alone", (spoken) => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ behind: { bindings: [spoken], versions: ["1.0"] }, gateway: { versions: ["1.0"] } });
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  describe.each(bindings)("a caller over %s", (binding) => {
    const client = () => scene.over(binding);

    it("a caller of a gateway gets the task of a message under its own id, and can read it again", async () => {
      const { operations } = await client();
      const task = taskOf(await operations.sendMessage(say("echo good morning"), {}));
      expect([stateOf(task), textIn(task.artifacts[0]?.parts)]).toEqual(["COMPLETED", "good morning"]);
      const behind = await scene.behind.inProcess().getTask(requestOf("getTask", { id: task.id }), {});
      expect(behind).toEqual(await operations.getTask(requestOf("getTask", { id: task.id }), {}));
      const { tasks } = await operations.listTasks(requestOf("listTasks", { contextId: task.contextId }), {});
      expect(tasks.map(({ id }) => id)).toEqual([task.id]);
    });

    it("a caller of a gateway gets a message as the answer", async () => {
      const { payload } = await (await client()).operations.sendMessage(say("say hello"), {});
      expect(payload.case === "message" && textIn(payload.value.parts)).toBe("hello");
    });

    it("a caller of a gateway reads a stream event by event, and resumes it from any event id", async () => {
      const { operations } = await client();
      const items = await itemsOf(operations.sendStreamingMessage(say("chunks"), {}));
      expect(items.map(lineOf)).toEqual(chunkLines);
      const task = items[0]?.response.payload.value as Task;
      for (const [place, { id }] of items.entries()) {
        expect(id).toEqual(expect.any(String));
        const rest = operations.subscribeToTask(requestOf("subscribeToTask", { id: task.id }), { after: id });
        expect(await linesOf(rest)).toEqual(chunkLines.slice(place + 1));
      }
    });

    it("a caller of a gateway answers the agent's question in the same task", async () => {
      const caller = await client();
      const question = taskOf(await caller.operations.sendMessage(say("ask berth"), {}));
      expect([stateOf(question), textIn(question.status?.message?.parts)]).toEqual(["INPUT_REQUIRED", "which one?"]);
      const answered = taskOf(await caller.operations.sendMessage(say("the north one", { taskId: question.id }), {}));
      expect([answered.id, stateOf(answered)]).toEqual([question.id, "COMPLETED"]);
      expect(textIn(answered.artifacts[0]?.parts)).toBe("berth the north one");
    });

    it("a caller of a gateway cancels a task while another caller reads it", async () => {
      const { operations } = await client();
      const configuration = { returnImmediately: true };
      const { id } = taskOf(await operations.sendMessage(say("wait", { configuration }), {}));
      const stream = await openStream(operations.subscribeToTask(requestOf("subscribeToTask", { id }), {}));
      const canceled = await operations.cancelTask(requestOf("cancelTask", { id }), {});
      expect(stateOf(canceled)).toBe("CANCELED");
      expect((await stream.readRest()).at(-1)).toBe("status CANCELED");
    });

    it.each([
      ["a task that is missing", "getTask", { id: "nowhere" }, "taskNotFound"],
      ["a cancel of nothing", "cancelTask", { id: "nowhere" }, "taskNotFound"],
      ["a subscription to nothing", "subscribeToTask", { id: "nowhere" }, "taskNotFound"],
      ["an extended card where there is none", "getExtendedAgentCard", {}, "unsupportedOperation"],
      ["a tenant of the caller's choice", "getTask", { id: "nowhere", tenant: "acme" }, "invalidParams"],
    ] as const)("a caller of a gateway gets the error of %s", async (_, name, fields, code) => {
      const { operations } = await client();
      const error = await errorOf(operations[name](requestOf(name, fields) as never, {}));
      expect(error.code).toBe(code);
    });

    it("a caller of a gateway gets an error of the agent with all its details", async () => {
      const { operations } = await client();
      const error = await errorOf(operations.sendMessage(say("refuse"), {}));
      expect(error).toBeInstanceOf(A2AError);
      expect(error).toMatchObject({
        code: "invalidParams",
        message: "no such word",
        violations: [{ field: "message.parts[0].text", description: "is no word" }],
        metadata: { hint: "look it up" },
      });
      expect(await errorOf(operations.sendMessage(say("busy"), {}))).toMatchObject({
        code: "resourceExhausted",
        message: "too much at once",
        retryAfterMs: 90_000,
      });
    });
  });
});
