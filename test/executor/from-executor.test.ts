import { type AnswerEvent, type Client, textOf } from "trivium";
import { fromExecutor } from "trivium/a2a-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { type ConnectToOptions, connectTo } from "../../src/testing/connect-to.js";
import { recordingLogger } from "../support/recording-logger.js";
import { type Execution, type SeenRequest, shapes, type TestExecutor } from "./shapes.js";

const shown = (event: AnswerEvent): string => {
  if (event.type === "status") return `${event.state} ${event.text}`.trim();
  if (event.type === "artifact") return `${event.artifactId} ${event.delta}${event.last ? "." : ""}`;
  return event.type;
};

describe.each(shapes)("an executor of @a2a-js/sdk $sdk", ({ sdk, host }) => {
  async function connect(executor: TestExecutor, options: ConnectToOptions = {}): Promise<Client> {
    const client = await connectTo(host(executor), { logger: false, ...options });
    onTestFinished(() => client.close());
    return client;
  }

  it("an executor answers with a message, and no task is made", async () => {
    const client = await connect({
      execute(run) {
        run.message(`hello ${run.text}`);
        run.finished();
      },
    });
    const answer = await client.send("world");
    expect([answer.state, answer.text, answer.taskId]).toEqual(["message", "hello world", ""]);
  });

  it("an executor streams statuses and an artifact in chunks, in order, each once", async () => {
    const client = await connect({
      async execute(run) {
        run.task("submitted");
        run.status("working", "thinking");
        for (const [at, word] of ["one ", "two ", "three"].entries()) {
          run.artifact(word, { append: at > 0, lastChunk: at === 2 });
          await new Promise(setImmediate);
        }
        run.status("completed", "done");
        run.finished();
      },
    });
    const stream = client.stream("count");
    const events: string[] = [];
    for await (const event of stream) events.push(shown(event));
    expect(events[0]).toBe("task");
    const chunks = ["result one ", "result two ", "result three."];
    expect(events.slice(1)).toEqual(["working thinking", ...chunks, "completed done"]);
    const answer = await client.send("count");
    expect([answer.text, answer.statusText, answer.artifacts[0]?.name]).toEqual(["one two three", "done", "Result"]);
  });

  it("an executor may publish a whole task with artifacts, messages and a terminal state", async () => {
    const client = await connect({
      execute(run) {
        run.task("completed", { artifact: "the result", remark: "by the way", text: "ready" });
        run.finished();
      },
    });
    const { task, text, statusText } = await client.send("go");
    expect([text, statusText]).toEqual(["the result", "ready"]);
    expect(task?.history.map(({ parts }) => textOf(parts))).toEqual(["go", "by the way"]);
  });

  it("an executor gets the task with its history for the follow-up message, and republishes it", async () => {
    const requests: SeenRequest[] = [];
    const client = await connect({
      execute(run) {
        requests.push(run);
        if (run.state === undefined) {
          run.task("submitted");
          run.artifact("draft", { lastChunk: true });
          run.status("input-required", "which one?");
        } else {
          run.publish(sdk === "1" ? { kind: "task", data: run.raw["task"] } : { ...(run.raw["task"] as object) });
          run.artifact(" final", { append: true, lastChunk: true });
          run.status("completed");
        }
        run.finished();
      },
    });
    const question = await client.send("first");
    expect([question.state, question.statusText]).toEqual(["input-required", "which one?"]);
    const done = await client.send("second", { continue: question });
    expect([done.state, done.text, done.taskId]).toEqual(["completed", "draft final", question.taskId]);
    const [, second] = requests;
    expect(second).toMatchObject({
      taskId: question.taskId,
      text: "second",
      state: "input-required",
      artifacts: ["draft"],
    });
    expect(second?.history).toEqual(["first", "which one?", "second"]);
    expect(second?.role).toBe(sdk === "1" ? 1 : "user");
  });

  it("an executor gets the tasks that the message refers to", async () => {
    const requests: SeenRequest[] = [];
    const client = await connect({
      execute(run) {
        requests.push(run);
        run.task("completed");
        run.finished();
      },
    });
    const { taskId } = await client.send("first");
    await client.send("second", { referenceTaskIds: [taskId, "gone"] });
    expect(requests.map(({ references }) => references)).toEqual([undefined, [taskId]]);
  });

  it("a cancel calls the executor's cancelTask, and keeps what is published while it stops", async () => {
    const stopped = new Set<string>();
    const start = Promise.withResolvers<void>();
    const client = await connect({
      async execute(run) {
        run.task("working");
        run.artifact("half");
        start.resolve();
        while (!stopped.has(run.taskId)) await new Promise(setImmediate);
        run.artifact(" more", { append: true, lastChunk: true });
        run.status("canceled", "stopped as you wish");
        run.finished();
      },
      cancelTask(taskId) {
        stopped.add(taskId);
      },
    });
    const { taskId } = await client.send("go", { configuration: { returnImmediately: true } });
    await start.promise;
    const canceled = await client.cancelTask({ id: taskId });
    const { artifacts, statusText, state } = await client.wait(canceled.id);
    expect([state, artifacts[0]?.text, statusText]).toEqual(["canceled", "half more", "stopped as you wish"]);
  });

  it("an executor ends as canceled where cancelTask publishes the state itself, or nothing", async () => {
    const never = new Promise<void>(() => {});
    for (const cancelTask of [(_: string, run: Execution) => run.status("canceled", "by cancelTask"), undefined]) {
      const client = await connect(
        {
          execute(run) {
            run.task("working");
            run.status("working");
            return never;
          },
          ...(cancelTask === undefined ? {} : { cancelTask }),
        },
        // What publishes nothing is cut off then.
        cancelTask === undefined ? { limits: { graceMs: 50 } } : {},
      );
      const { taskId } = await client.send("go", { configuration: { returnImmediately: true } });
      await client.cancelTask({ id: taskId });
      const { state, statusText } = await client.wait(taskId);
      expect([state, statusText]).toEqual(["canceled", cancelTask === undefined ? "" : "by cancelTask"]);
    }
  });

  it("an executor stops at a deadline without ending as canceled", async () => {
    const client = await connect(
      {
        execute(run) {
          run.task("working");
          return new Promise(() => {});
        },
        cancelTask: (_, run) => run.status("canceled"),
      },
      { limits: { turnDeadlineMs: 20 } },
    );
    const { state, statusText } = await client.send("go");
    expect([state, statusText]).toEqual(["failed", expect.stringContaining("turn deadline exceeded")]);
  });

  it("an error of the SDK that an executor throws first is the answer, and a later one fails the task", async () => {
    const errorFields = sdk === "1" ? { reason: "CONTENT_TYPE_NOT_SUPPORTED" } : { code: -32005 };
    const client = await connect({
      async execute(run) {
        if (run.text !== "at once") run.task("submitted");
        throw Object.assign(new Error("no pictures"), errorFields);
      },
    });
    await expect(client.send("at once")).rejects.toMatchObject({
      code: "contentTypeNotSupported",
      message: expect.stringContaining("no pictures"),
    });
    const { state, statusText } = await client.send("later");
    expect([state, statusText]).toEqual(["failed", "no pictures"]);
  });

  it("any other error of an executor is masked, and logged", async () => {
    const { log, logger } = recordingLogger();
    const client = await connect(
      {
        execute() {
          throw new Error("the secret of the database");
        },
      },
      { logger },
    );
    const { state, statusText } = await client.send("go");
    expect([state, statusText]).toEqual(["failed", expect.stringMatching(/^the agent failed \(reference /)]);
    expect(log.some(({ fields }) => String(Reflect.get(fields, "err")).includes("the secret of the database"))).toBe(
      true,
    );
  });

  it("the log advises where an executor fails over the objects that it gets", async () => {
    const { log, logger } = recordingLogger();
    const client = await connect(
      {
        execute(run) {
          // What a generation reads of a part of the other one.
          const part = Object(run.raw["userMessage"]).parts[0];
          run.message(sdk === "1" ? part.text.toUpperCase() : part.content.value);
        },
      },
      { logger },
    );
    const { state } = await client.send("go");
    expect(state).toBe("failed");
    expect(log.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^the executor failed before its first event: one of @a2a-js\/sdk /),
    );
  });

  it("an error says which option is missing for the events of the other generation", async () => {
    const client = await connect({
      execute(run) {
        run.publish(sdk === "1" ? { kind: "message", parts: [] } : { kind: "message", data: {} });
        run.finished();
      },
    });
    await expect(client.send("go")).rejects.toMatchObject({
      code: "invalidAgentResponse",
      message: expect.stringContaining(
        sdk === "1" ? 'fromExecutor(executor, { sdk: "0.3" })' : "host an executor of 1.x without",
      ),
    });
  });

  it("an executor that waits in an interrupted state gets the next message by another execute", async () => {
    const answers = new Map<string, (text: string) => void>();
    const client = await connect({
      async execute(run) {
        const answer = answers.get(run.taskId);
        if (answer !== undefined) return answer(run.text);
        run.task("submitted");
        run.status("auth-required", "log in first", false);
        const token = await new Promise<string>((resolve) => answers.set(run.taskId, resolve));
        run.artifact(`token ${token}`, { lastChunk: true });
        run.status("completed");
        run.finished();
      },
    });
    const question = await client.send("go");
    expect(question.state).toBe("auth-required");
    const done = await client.send("t0ken", { continue: question });
    expect([done.state, done.text]).toEqual(["completed", "token t0ken"]);
  });

  it("a further message waits while execute works silently on an answer", async () => {
    const order: string[] = [];
    const working = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const client = await connect({
      async execute(run) {
        order.push(`begin ${run.text}`);
        if (run.text === "answer") {
          working.resolve();
          await released.promise;
        }
        if (run.text === "more") run.status("completed");
        else run.status("input-required", "and?");
        order.push(`end ${run.text}`);
        run.finished();
      },
    });
    const question = await client.send("order");
    const answered = client.send("answer", { continue: question });
    await working.promise;
    const more = client.send("more", { continue: question });
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
    released.resolve();
    expect((await answered).state).toBe("input-required");
    expect((await more).state).toBe("completed");
    expect(order).toEqual(["order", "answer", "more"].flatMap((text) => [`begin ${text}`, `end ${text}`]));
  });

  it("what an executor publishes behind the end is dropped", async () => {
    const { log, logger } = recordingLogger();
    const client = await connect(
      {
        async execute(run) {
          run.task("completed", { artifact: "all" });
          run.artifact("too late");
          run.finished();
          run.artifact("far too late");
          await new Promise(setImmediate);
          throw new Error("afterwards");
        },
      },
      { logger },
    );
    const { text, state } = await client.send("go");
    expect([state, text]).toEqual(["completed", "all"]);
    await expect
      .poll(() => log.map(({ message }) => message))
      .toContain("the executor failed after its execution had ended");
  });

  it("a shutdown tells an executor to stop, and does not take its word for a cancel", async () => {
    const store = memoryTaskStore();
    const taskIds: string[] = [];
    const client = await connect(
      {
        execute(run) {
          run.task("working");
          run.status("working", "on it");
          return new Promise(() => {});
        },
        cancelTask(taskId, run) {
          taskIds.push(taskId);
          run.status("canceled");
        },
      },
      { store, limits: { graceMs: 50 } },
    );
    const { taskId } = await client.send("go", { configuration: { returnImmediately: true } });
    await client.close();
    expect(taskIds).toEqual([taskId]);
    const after = await connect({ execute: () => undefined }, { store });
    const { state } = await after.wait(taskId);
    expect(state).toBe("failed");
  });
});

describe("fromExecutor()", () => {
  const execute = async (): Promise<void> => undefined;

  it("fromExecutor() takes executors alone, and knows two generations", () => {
    class Mine {
      execute = execute;
    }
    expect(() => fromExecutor(Mine as never)).toThrow(
      "fromExecutor() takes an object with the methods execute and cancelTask, not its class",
    );
    expect(() => fromExecutor(new Mine() as never)).toThrow("cancelTask");
    expect(() => fromExecutor({ execute, cancelTask: execute }, { sdk: "0.4" as never })).toThrow(
      'fromExecutor(): sdk must be "1" or "0.3", not "0.4"',
    );
  });

  it("fromExecutor() fails an executor that returns without an event", async () => {
    await using client = await connectTo(fromExecutor({ execute, cancelTask: execute }), { logger: false });
    await expect(client.send("go")).rejects.toMatchObject({
      code: "invalidAgentResponse",
      message: expect.stringContaining("the executor returned without having published an event"),
    });
  });
});
