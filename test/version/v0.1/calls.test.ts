import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createTransport } from "../../../src/binding/transport.js";
import { GetTaskRequestSchema, TaskState } from "../../../src/protocol/model.js";
import { findOperation, invokeUnary, type RequestOf } from "../../../src/protocol/operations.js";
import { callV01 } from "../../../src/version/v0.1/calls.js";
import { foreignAgent } from "./foreign-agent.js";
import { message } from "./messages.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const state = (value: string): JsonObject => ({ state: value, timestamp: "2025-05-19T10:00:00" });

describe("a send", () => {
  it("a 0.1 send names a new task and a new session, and keeps given names", async () => {
    await using agent = await foreignAgent(({ params, result }) =>
      result({ id: params["id"] ?? null, status: state("completed") }),
    );
    const { payload } = await agent.operations.sendMessage(message(), {});
    const [method, params] = agent.requests[0] ?? [];
    expect(method).toBe("tasks/send");
    expect(params).toEqual({
      id: expect.stringMatching(uuid),
      sessionId: expect.stringMatching(uuid),
      message: { role: "user", parts: [{ type: "text", text: "hello" }] },
    });
    expect(payload).toMatchObject({ case: "task", value: { id: params?.["id"], contextId: params?.["sessionId"] } });
    await agent.operations.sendMessage(message({ taskId: "t" }), {});
    expect(agent.requests[1]?.[1]).not.toHaveProperty("sessionId");
    expect(agent.requests[1]?.[1]).toHaveProperty("id", "t");
    await agent.operations.sendMessage(message({ contextId: "s" }), {});
    expect(agent.requests[2]?.[1]).toMatchObject({ id: expect.stringMatching(uuid), sessionId: "s" });
  });

  // The behavior of fasta2a.
  it("a 0.1 send waits for the task of an agent that answers early, under the id that the agent gave it", async () => {
    let gets = 0;
    await using agent = await foreignAgent(({ method, params, result, fail }) => {
      if (method === "tasks/send") result({ id: "own-id", status: state("submitted"), history: [] });
      else if (params["id"] !== "own-id") fail(200, { code: -32001, message: "Task not found" });
      else result({ id: "own-id", status: state(++gets < 3 ? "working" : "completed") });
    });
    const { payload } = await agent.operations.sendMessage(message(), {});
    expect(payload).toMatchObject({ case: "task", value: { id: "own-id", status: { state: TaskState.COMPLETED } } });
    expect(agent.requests.map(([method]) => method)).toEqual(["tasks/send", "tasks/get", "tasks/get", "tasks/get"]);
    expect(agent.pauses).toEqual([200, 300, 450]);
  });

  it.each(["completed", "canceled", "failed", "unknown", "input-required"])(
    "a 0.1 send is answered with a task that is %s",
    async (word) => {
      await using agent = await foreignAgent(({ method, result }) =>
        result({ id: "t", status: state(method === "tasks/send" ? "working" : word) }),
      );
      const { payload } = await agent.operations.sendMessage(message(), {});
      expect(payload.case).toBe("task");
      expect(agent.requests).toHaveLength(2);
    },
  );

  it("a 0.1 send that is not to wait does not", async () => {
    await using agent = await foreignAgent(({ result }) => result({ id: "t", status: state("submitted") }));
    const { payload } = await agent.operations.sendMessage(message({}, true), {});
    expect(payload).toMatchObject({ value: { status: { state: TaskState.SUBMITTED } } });
    expect(agent.requests).toHaveLength(1);
  });

  it("a 0.1 send polls with pauses that grow to two seconds", async () => {
    let gets = 0;
    await using agent = await foreignAgent(({ method, result }) =>
      result({ id: "t", status: state(method === "tasks/get" && ++gets === 9 ? "completed" : "working") }),
    );
    await agent.operations.sendMessage(message(), {});
    expect(agent.pauses.slice(-2)).toEqual([2000, 2000]);
    expect([...agent.pauses].sort((a, b) => a - b)).toEqual(agent.pauses);
  });

  it("a 0.1 send ends with its time", async () => {
    await using agent = await foreignAgent(({ result }) => result({ id: "t", status: state("working") }));
    await expect(agent.operations.sendMessage(message(), { timeoutMs: 150 })).rejects.toMatchObject({
      code: "deadlineExceeded",
    });
  });

  it("a 0.1 send is given up with its signal, also while it pauses", async () => {
    const caller = new AbortController();
    const reason = new Error("enough");
    await using agent = await foreignAgent(({ result }) => result({ id: "t", status: state("working") }));
    // Uses the real clock: the abort cuts the pause short.
    const transport = callV01(
      createTransport({
        unary: async (operation, request, options) => {
          const reply = await invokeUnary(agent.operations, operation, { ...request, ...message({}, true) }, options);
          queueMicrotask(() => caller.abort(reason));
          return reply;
        },
        stream: () => neverHere(),
      }),
    );
    await expect(transport.sendMessage(message(), { signal: caller.signal })).rejects.toBe(reason);
    expect(agent.requests).toHaveLength(1);
  });

  it.each([
    [-32601, "Method not found"],
    [-32001, "Task not found"],
  ])("a 0.1 send to an agent whose task cannot be read (%d) is answered with its first reply", async (code, text) => {
    await using agent = await foreignAgent(({ method, result, fail }) =>
      method === "tasks/send" ? result({ id: "t", status: state("working") }) : fail(400, { code, message: text }),
    );
    const { payload } = await agent.operations.sendMessage(message(), {});
    expect(payload).toMatchObject({ value: { id: "t", status: { state: TaskState.WORKING } } });
  });

  it("a 0.1 send keeps polling after a passing failure", async () => {
    let gets = 0;
    await using agent = await foreignAgent(({ method, result, fail }) => {
      if (method === "tasks/send") result({ id: "t", status: state("working") });
      else if (++gets < 4) fail(503, { code: -32011, message: "Resource unavailable" });
      else result({ id: "t", status: state("completed") });
    });
    const { payload } = await agent.operations.sendMessage(message(), {});
    expect(payload).toMatchObject({ value: { status: { state: TaskState.COMPLETED } } });
  });

  it("a 0.1 send is reported as written if its task can no longer be read", async () => {
    await using agent = await foreignAgent(({ method, result, response }) => {
      if (method === "tasks/send") result({ id: "t", status: state("working") });
      else response.destroy();
    });
    await expect(agent.operations.sendMessage(message(), {})).rejects.toMatchObject({
      name: "ConnectionError",
      written: true,
    });
    expect(agent.requests.filter(([method]) => method === "tasks/send")).toHaveLength(1);
  });
});

describe("an error of an agent", () => {
  it.each([
    [400, -32602, "invalidParams"],
    [404, -32601, "methodNotFound"],
    [500, -32001, "taskNotFound"],
    [200, -32002, "taskNotCancelable"],
    [401, -32007, "unauthenticated"],
  ])(
    "an error of a 0.1 agent is read from the body, with HTTP status %d and code %d",
    async (status, code, expected) => {
      await using agent = await foreignAgent(({ fail }) => fail(status, { code, message: "no", data: "because" }));
      const cancel = { ...create(findOperation("cancelTask").input), id: "t" } as RequestOf<"cancelTask">;
      await expect(agent.operations.cancelTask(cancel, {})).rejects.toMatchObject({
        code: expected,
        message: "no: because",
      });
    },
  );
});

describe("operations that 0.1 does not have", () => {
  const request = <K extends "listTaskPushNotificationConfigs" | "deleteTaskPushNotificationConfig">(
    name: K,
    init: object,
  ): RequestOf<K> => ({ ...create(findOperation(name).input), ...init }) as RequestOf<K>;

  it.each(["listTasks", "getExtendedAgentCard"] as const)(
    "the operation %s, which 0.1 does not have, is refused without a request",
    async (name) => {
      await using agent = await foreignAgent(({ result }) => result({}));
      const call = agent.operations[name] as (request: object, options: object) => Promise<unknown>;
      await expect(call(create(findOperation(name).input), {})).rejects.toMatchObject({ code: "unsupportedOperation" });
      expect(agent.requests).toEqual([]);
    },
  );

  it("the 0.1 list of push configurations is the one of the task", async () => {
    const config: JsonValue = { url: "https://ops.example/hook", authentication: { schemes: ["Bearer"] } };
    await using agent = await foreignAgent(({ params, result }) =>
      result({ id: params["id"] ?? null, pushNotificationConfig: params["id"] === "t" ? config : null }),
    );
    const list = (taskId: string): Promise<unknown> =>
      agent.operations.listTaskPushNotificationConfigs(request("listTaskPushNotificationConfigs", { taskId }), {});
    expect(await list("t")).toMatchObject({
      configs: [{ id: "t", taskId: "t", url: "https://ops.example/hook", authentication: { scheme: "Bearer" } }],
    });
    expect(await list("none")).toMatchObject({ configs: [] });
    expect(agent.requests[0]).toEqual(["tasks/pushNotification/get", { id: "t" }]);
  });

  it("a 0.1 push configuration is deleted by setting none", async () => {
    await using agent = await foreignAgent(({ result }) => result(null));
    const deletion = request("deleteTaskPushNotificationConfig", { taskId: "t", id: "t" });
    await agent.operations.deleteTaskPushNotificationConfig(deletion, {});
    expect(agent.requests).toEqual([["tasks/pushNotification/set", { id: "t", pushNotificationConfig: null }]]);
  });

  it("all of the history is asked for in 0.1 by a large number", async () => {
    await using agent = await foreignAgent(({ result }) => result({ id: "t", status: state("working") }));
    await agent.operations.getTask(create(GetTaskRequestSchema, { id: "t" }), {});
    expect(agent.requests).toEqual([["tasks/get", { id: "t", historyLength: 1000 }]]);
  });
});

function neverHere(): never {
  throw new TypeError("nobody streams here");
}
