import { once } from "node:events";
import { type Agent, artifact, type Server, serve } from "trivium";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Client } from "../../../src/client/node.js";
import { createTestClock, waitFor } from "../../../src/testing/index.js";
import { allBindings } from "../support/cards.js";

/** Called when a turn starts; the agent waits for its promise before the first event. */
let begin = (): Promise<void> | undefined => undefined;

const endless: Agent = async function* ({ signal }) {
  await begin();
  yield artifact("begun", { artifactId: "a" });
  await once(signal, "abort");
};

let server: Server;
beforeAll(async () => {
  const card = { name: "Endless", description: "Works until it is stopped", version: "1" };
  server = await serve({
    card,
    agent: endless,
    bindings: ["JSONRPC", "GRPC", "HTTP+JSON", "CONNECT"],
    port: 0,
    drainMs: 0,
  });
});
afterEach(() => {
  begin = () => undefined;
});
afterAll(() => server.close());

const reason = new Error("changed my mind");

/** The only task that works, or the last one that did. */
const lastTask = async (client: Client) => (await client.listTasks({ pageSize: 1 })).tasks[0]?.id ?? "";

describe.each(allBindings)("over %s", (binding) => {
  const connected = () => Client.connect(server.url, { prefer: [binding] });

  it("a task is canceled by its id, and given as the agent left it", async () => {
    await using client = await connected();
    const { taskId } = await client.send("go", { configuration: { returnImmediately: true } });
    expect(await client.cancel(taskId)).toMatchObject({ taskId, state: "canceled" });
    await expect(client.cancel(taskId)).rejects.toMatchObject({ code: "taskNotCancelable" });
    await expect(client.cancel("nobody")).rejects.toMatchObject({ code: "taskNotFound" });
  });

  it("an aborted stream cancels its task, and fails with the reason", async () => {
    await using client = await connected();
    const leaving = new AbortController();
    const stream = client.stream("go", { signal: leaving.signal, cancelOnAbort: true });
    let taskId = "";
    const read = async () => {
      for await (const event of stream) {
        if (event.type !== "artifact") continue;
        taskId = event.taskId;
        leaving.abort(reason);
      }
    };
    await expect(read()).rejects.toBe(reason);
    expect((await client.wait(taskId)).state).toBe("canceled");
    await expect(stream.answer).rejects.toBe(reason);
  });

  it("an aborted send cancels its task, and without cancelOnAbort leaves it working", async () => {
    await using client = await connected();
    for (const cancelOnAbort of [true, false]) {
      const before = await lastTask(client);
      const leaving = new AbortController();
      const send = client.send("go", { signal: leaving.signal, cancelOnAbort });
      await expect.poll(() => lastTask(client)).not.toBe(before);
      const taskId = await lastTask(client);
      await waitFor(client, taskId, ({ text }) => text === "begun");
      leaving.abort(reason);
      await expect(send).rejects.toBe(reason);
      const { state } = await client.cancel(taskId).catch(() => ({ state: "canceled before" }));
      expect(state).toBe(cancelOnAbort ? "canceled before" : "canceled");
    }
  });
});

describe.concurrent.each(allBindings)("over %s", (binding) => {
  it("a stream whose time is over cancels its task", async () => {
    await using client = await Client.connect(server.url, { prefer: [binding] });
    const stream = client.stream("go", { timeoutMs: 1500, cancelOnAbort: true });
    const taskIds = new Set<string>();
    const read = async () => {
      for await (const event of stream) if (event.type === "artifact") taskIds.add(event.taskId);
    };
    await expect(read()).rejects.toMatchObject({ code: "deadlineExceeded" });
    const [taskId = ""] = taskIds;
    expect((await client.wait(taskId)).state).toBe("canceled");
  });
});

it("a stream that is aborted before its first event waits for the id of its task", async () => {
  await using client = await Client.connect(server.url);
  const leaving = new AbortController();
  begin = async () => leaving.abort(reason);
  const { answer } = client.stream("go", { signal: leaving.signal, cancelOnAbort: true });
  await expect(answer).rejects.toBe(reason);
  const taskId = await lastTask(client);
  expect(await client.wait(taskId)).toMatchObject({ state: "canceled" });
});

it("a stream that is aborted before it begins sends nothing", async () => {
  await using client = await Client.connect(server.url);
  const before = await lastTask(client);
  const { answer } = client.stream("go", { signal: AbortSignal.abort(reason), cancelOnAbort: true });
  await expect(answer).rejects.toBe(reason);
  expect(await lastTask(client)).toBe(before);
});

it("a stream whose agent stays silent is aborted after two seconds", async () => {
  const clock = createTestClock();
  await using client = await Client.connect(server.url, { clock, prefer: ["JSONRPC"] });
  const leaving = new AbortController();
  const started = new Promise<void>((resolve) => {
    begin = () => {
      resolve();
      return new Promise(() => {});
    };
  });
  const send = client.send("go", { signal: leaving.signal, cancelOnAbort: true });
  const failed = expect(send).rejects.toBe(reason);
  await started;
  leaving.abort(reason);
  await clock.advance(2_000);
  await failed;
});

it("an abort after the end of the stream cancels nothing", async () => {
  const card = { name: "Short", description: "Ends at once", version: "1" };
  await using short = await serve({ card, agent: async () => artifact("done"), port: 0 });
  await using client = await Client.connect(short.url);
  const leaving = new AbortController();
  const answer = await client.send("go", { signal: leaving.signal, cancelOnAbort: true });
  leaving.abort(reason);
  expect(answer.text).toBe("done");
  expect(await client.wait(answer.taskId)).toMatchObject({ state: "completed" });
});
