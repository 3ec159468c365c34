import type { EventEmitter } from "node:events";
import { data, fromJson, toJson } from "trivium";
import { type AgentExecutor, type AgentExecutorV03, fromExecutor } from "trivium/a2a-js";
import { expect, it, onTestFinished } from "vitest";
import { type ConnectToOptions, connectTo } from "../../src/testing/connect-to.js";

// What each generation's objects look like, and that nothing of them is lost on the way in and out.

type Any = Record<string, unknown>;

interface Bus {
  publish(event: object): void;
  finished(): void;
}

const message = fromJson("Message", {
  messageId: "m-1",
  role: "ROLE_USER",
  parts: [
    { text: "look", metadata: { lang: "en" } },
    { raw: "AAH+", filename: "a.bin", mediaType: "application/octet-stream" },
    { url: "https://files.example/a.png", mediaType: "image/png", filename: "" },
    { data: { deep: [1, null, "x"] }, mediaType: "application/json" },
  ],
  metadata: { trace: "t-1" },
  referenceTaskIds: [],
});

async function connect(agent: ReturnType<typeof fromExecutor>, options: ConnectToOptions = {}) {
  const client = await connectTo(agent, { logger: false, ...options });
  onTestFinished(() => client.close());
  return client;
}

it("an executor of 1.x gets the objects of 1.x, with the caller, the headers and the configuration", async () => {
  const contexts: Any[] = [];
  const executor = {
    async execute(context: object, bus: { publish(event: object): void }) {
      contexts.push(context as Any);
      bus.publish({ kind: "message", data: { parts: [{ content: { $case: "text", value: "ok" } }] } });
    },
    cancelTask: async () => undefined,
  } satisfies AgentExecutor;
  const authenticate = () => ({ owner: "anna", tenant: "north", email: "anna@example.org" });
  const client = await connect(fromExecutor(executor), { authenticate });
  await client.send(message.parts, {
    messageId: "m-1",
    metadata: { trace: "t-1" },
    headers: { "x-trace": "abc" },
    configuration: { acceptedOutputModes: ["text/plain"], historyLength: 3 },
  });
  const [context] = contexts;
  expect(context?.["userMessage"]).toMatchObject({
    messageId: "m-1",
    role: 1,
    taskId: context?.["taskId"],
    contextId: context?.["contextId"],
    parts: [
      { content: { $case: "text", value: "look" }, metadata: { lang: "en" }, filename: "", mediaType: "" },
      { content: { $case: "raw", value: Buffer.from([0, 1, 254]) }, filename: "a.bin" },
      { content: { $case: "url", value: "https://files.example/a.png" }, mediaType: "image/png" },
      { content: { $case: "data", value: { deep: [1, null, "x"] } } },
    ],
  });
  const { request, context: call, task } = context as { request: Any; context: Any; task: unknown };
  expect(request).toMatchObject({
    message: { messageId: "m-1" },
    configuration: { acceptedOutputModes: ["text/plain"], historyLength: 3, returnImmediately: false },
  });
  expect(call["user"]).toMatchObject({ userName: "anna", isAuthenticated: true, email: "anna@example.org" });
  expect([call["tenant"], task]).toEqual(["north", undefined]);
  const headers = (call["state"] as Map<string, Any>).get("headers");
  expect([headers?.["x-trace"], headers?.["x-missing"]]).toEqual(["abc", undefined]);
});

it("an executor may publish every kind of part, and metadata, of both generations", async () => {
  const metadata = { source: "test", dropped: undefined };
  const executed = (publish: (ids: Any, bus: { publish(event: object): void }) => void) => ({
    async execute({ taskId, contextId }: { readonly taskId: string; readonly contextId: string }, bus: never) {
      publish({ taskId, contextId }, bus);
    },
    cancelTask: async () => undefined,
  });
  const newer = executed((ids, bus) => {
    const parts = [
      { content: { $case: "text", value: "look" } },
      { content: { $case: "raw", value: Buffer.from([0, 1, 254]) }, filename: "a.bin", mediaType: "image/x" },
      { content: { $case: "url", value: "https://files.example/a.png" }, filename: "a.png", mediaType: "image/png" },
      { content: { $case: "data", value: { list: [1, null, "x"] } }, metadata },
    ];
    const whole = { artifactId: "all", name: "All", description: "each kind", parts, metadata };
    bus.publish({ kind: "artifactUpdate", data: { ...ids, artifact: whole, append: false, lastChunk: true } });
    bus.publish({ kind: "statusUpdate", data: { ...ids, status: { state: 3 }, metadata } });
  });
  const older = executed((ids, bus) => {
    const parts = [
      { kind: "text", text: "look" },
      { kind: "file", file: { bytes: "AAH+", name: "a.bin", mimeType: "image/x" } },
      { kind: "file", file: { uri: "https://files.example/a.png", name: "a.png", mimeType: "image/png" } },
      { kind: "data", data: { list: [1, null, "x"] }, metadata },
    ];
    const whole = { artifactId: "all", name: "All", description: "each kind", parts, metadata };
    bus.publish({ kind: "artifact-update", ...ids, artifact: whole, lastChunk: true });
    bus.publish({ kind: "status-update", ...ids, status: { state: "completed" }, final: true, metadata });
  });
  const agents = [
    fromExecutor(newer satisfies AgentExecutor),
    fromExecutor(older satisfies AgentExecutorV03, { sdk: "0.3" }),
  ];
  for (const agent of agents) {
    const { task } = await (await connect(agent)).send("go");
    expect(task && toJson(task)).toMatchObject({
      artifacts: [
        {
          ...{ artifactId: "all", name: "All", description: "each kind", metadata: { source: "test" } },
          parts: [
            { text: "look" },
            { raw: "AAH+", filename: "a.bin", mediaType: "image/x" },
            { url: "https://files.example/a.png", filename: "a.png", mediaType: "image/png" },
            { data: { list: [1, null, "x"] }, metadata: { source: "test" } },
          ],
        },
      ],
      metadata: { source: "test" },
    });
  }
});

it("an executor of 0.3 gets the JSON of 0.3", async () => {
  const contexts: Any[] = [];
  const executor = {
    async execute(context: object, bus: { publish(event: { kind: string }): void; finished(): void }) {
      const { taskId, contextId } = context as Any;
      contexts.push(structuredClone({ ...(context as Any), context: undefined }));
      const status = { state: "input-required" };
      bus.publish({ kind: "status-update", taskId, contextId, status, final: true } as { kind: string });
    },
    cancelTask: async () => undefined,
  } satisfies AgentExecutorV03;
  const client = await connect(fromExecutor(executor, { sdk: "0.3" }));
  const answer = await client.send([...message.parts.slice(0, 3), data({ deep: true })]);
  await client.send("again", { continue: answer });
  const [first, second] = contexts;
  expect(first?.["userMessage"]).toMatchObject({
    ...{ kind: "message", role: "user", taskId: answer.taskId, contextId: answer.contextId },
    parts: [
      { kind: "text", text: "look", metadata: { lang: "en" } },
      { kind: "file", file: { bytes: "AAH+", name: "a.bin", mimeType: "application/octet-stream" } },
      { kind: "file", file: { uri: "https://files.example/a.png", mimeType: "image/png" } },
      { kind: "data", data: { deep: true } },
    ],
  });
  expect(second?.["task"]).toMatchObject({
    ...{ kind: "task", id: answer.taskId, status: { state: "input-required" } },
    history: [{ kind: "message" }, { kind: "message", parts: [{ text: "again" }] }],
  });
});

it("an executor may not publish what JSON cannot represent", async () => {
  const circle: Any = {};
  circle["self"] = circle;
  const content = { $case: "data", value: circle };
  const publish = (event: object) => ({
    execute: async (_: object, bus: { publish(event: object): void }) => bus.publish(event),
    cancelTask: async () => undefined,
  });
  const agents = [
    fromExecutor(publish({ kind: "message", data: { parts: [{ content }] } })),
    fromExecutor(publish({ kind: "message", parts: [{ kind: "data", data: circle }] }) as AgentExecutorV03, {
      sdk: "0.3",
    }),
    fromExecutor(publish({ kind: "message", data: { parts: [{ content: { $case: "text", value: 7 } }] } })),
  ];
  for (const agent of agents) {
    const client = await connect(agent);
    await expect(client.send("go")).rejects.toMatchObject({ code: "invalidAgentResponse" });
  }
});

it("an executor of 1.x keeps the task open while it waits for authentication, and publishes later", async () => {
  const granted = Promise.withResolvers<void>();
  const executor = {
    async execute({ taskId, contextId }: { taskId: string; contextId: string }, bus: { publish(event: object): void }) {
      const update = (state: number) => ({ kind: "statusUpdate", data: { taskId, contextId, status: { state } } });
      bus.publish(update(8));
      void granted.promise.then(() => bus.publish(update(3)));
    },
    cancelTask: async () => undefined,
  } satisfies AgentExecutor;
  const client = await connect(fromExecutor(executor));
  const answer = await client.send("go");
  expect(answer.state).toBe("auth-required");
  granted.resolve();
  await expect.poll(async () => (await client.wait(answer.taskId)).state).toBe("completed");
});

it("the bus of an executor has listeners, and objects that another executor may copy to decorate it", async () => {
  const facts: unknown[] = [];
  const inner = {
    async execute({ taskId, contextId }: { taskId: string; contextId: string }, bus: { publish(event: object): void }) {
      bus.publish({ kind: "statusUpdate", data: { taskId, contextId, status: { state: 3 } } });
    },
  };
  const listener = (event: Any) => facts.push(event["kind"]);
  const executor = {
    async execute(context: { request: object; taskId: string; contextId: string }, bus: EventEmitter & Bus) {
      facts.push(Object.keys(structuredClone(context.request)).length > 0);
      bus.on("event", listener).once("finished", () => facts.push("finished"));
      const decorated = {
        publish: (event: { kind: string; data: object }) =>
          bus.publish({ ...event, data: { ...event.data, metadata: { stamped: true } } }),
      };
      await inner.execute(context, decorated as never);
      bus.off("event", listener).finished();
    },
    cancelTask: async () => undefined,
  };
  const { task } = await (await connect(fromExecutor(executor as never))).send("go");
  expect(task?.metadata).toEqual({ stamped: true });
  expect(facts).toEqual([true, "statusUpdate", "finished"]);
});
