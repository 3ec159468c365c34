import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { createParser } from "eventsource-parser";
import type { Agent } from "trivium";
import { artifact, authRequired, completed, inputRequired, reply, working } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";
import { bareHooks, type Hooks } from "./hooks.js";

// One of our agents as seen by clients of 0.1: requests are byte for byte what they send.

const agent: Agent = async function* ({ message }) {
  const [part] = message.parts;
  const text = part?.content.case === "text" ? part.content.value : "";
  if (text === "reply") {
    yield reply("K4");
    return;
  }
  yield working("looking");
  if (text === "permission") yield authRequired("Grant it at the quay");
  if (text === "question") {
    yield inputRequired("Which berth?");
    return;
  }
  yield artifact("K", { artifactId: "plan", name: "berth" });
  yield artifact("4", { artifactId: "plan", append: true, lastChunk: true });
  yield completed("done");
};

let served: ServedAgent;
let hooks: Hooks;
let ids = 0;
const newTask = (): string => `5d0c2f0e-${++ids}`;

beforeAll(async () => {
  hooks = await bareHooks();
  served = await startAgent("JSONRPC", {
    agent,
    push: { allow: "loopback" },
  });
});

afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await hooks[Symbol.asyncDispose]();
});

interface Answer {
  readonly status: number;
  readonly json: JsonObject;
}

async function post(method: string, params: JsonValue, more: JsonObject = {}): Promise<Answer> {
  const response = await fetch(served.server.url, {
    method: "POST",
    headers: { "Content-Type": "application/json; charset=utf-8" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params, ...more }),
  });
  const text = await response.text();
  return { status: response.status, json: text === "" ? {} : (JSON.parse(text) as JsonObject) };
}

interface Frame {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly json: JsonObject;
}

interface Ask {
  readonly id?: JsonValue;
  readonly headers?: Readonly<Record<string, string>>;
}

async function stream(method: string, params: JsonValue, { id = 2, headers }: Ask = {}): Promise<Frame[]> {
  const response = await fetch(served.server.url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
  });
  const frames: Frame[] = [];
  createParser({
    onEvent: ({ data, event, id }) => frames.push({ event, id, json: JSON.parse(data) as JsonObject }),
  }).feed(await response.text());
  return frames;
}

const say = (id: string, text: string, more: JsonObject = {}): JsonObject => ({
  id,
  sessionId: `s-${id}`,
  message: { role: "user", parts: [{ type: "text", text }] },
  ...more,
});

const results = (frames: readonly Frame[]): JsonValue[] => frames.map(({ json }) => json["result"] ?? null);

describe("tasks/send", () => {
  it("tasks/send answers with the task under the name that the caller gave it", async () => {
    const id = newTask();
    const { status, json } = await post("tasks/send", say(id, "berth"));
    expect(status).toBe(200);
    expect(json).toEqual({
      jsonrpc: "2.0",
      id: 1,
      result: {
        id,
        sessionId: `s-${id}`,
        status: {
          state: "completed",
          message: { role: "agent", parts: [{ type: "text", text: "done" }] },
          timestamp: expect.stringMatching(/Z$/),
        },
        artifacts: [{ name: "berth", index: 0, parts: [{ type: "text", text: "K4" }] }],
      },
    });
  });

  it("tasks/send shows as much history as was asked for", async () => {
    const { json } = await post("tasks/send", say(newTask(), "berth", { historyLength: 1 }));
    expect(json["result"]).toMatchObject({ history: [{ role: expect.any(String), parts: [{ type: "text" }] }] });
  });

  it("tasks/send makes a task of a direct answer too", async () => {
    const id = newTask();
    const { json } = await post("tasks/send", say(id, "reply"));
    expect(json["result"]).toMatchObject({
      id,
      status: { state: "completed", message: { role: "agent", parts: [{ type: "text", text: "K4" }] } },
    });
    expect((await post("tasks/get", { id })).json["result"]).toMatchObject({ id, status: { state: "completed" } });
  });

  it("tasks/send continues a known task", async () => {
    const id = newTask();
    expect((await post("tasks/send", say(id, "question"))).json["result"]).toMatchObject({
      id,
      status: { state: "input-required", message: { parts: [{ type: "text", text: "Which berth?" }] } },
    });
    expect((await post("tasks/send", say(id, "berth"))).json["result"]).toMatchObject({
      id,
      status: { state: "completed" },
    });
  });

  it("tasks/send refuses a task that has ended with the number that 0.1 has for that", async () => {
    const id = newTask();
    await post("tasks/send", say(id, "berth"));
    const { status, json } = await post("tasks/send", say(id, "berth"));
    expect({ status, json }).toEqual({
      status: 200,
      json: { jsonrpc: "2.0", id: 1, error: { code: -32009, message: expect.any(String) } },
    });
  });

  it.each([
    ["trpc-a2a-go, whose ids are those of tasks", { id: "5d0c2f0e-trpc" }, {}],
    [
      "fasta2a, whose ids are null",
      { id: null },
      { sessionId: null, metadata: null, historyLength: null, pushNotification: null },
    ],
    ["the samples, which leave nothing out", { id: "x" }, { acceptedOutputModes: ["text"], metadata: null }],
  ])("tasks/send is answered to %s", async (_, envelope, more) => {
    const id = newTask();
    const { json } = await post("tasks/send", say(id, "berth", more), envelope);
    expect(json).toMatchObject({ id: envelope.id, result: { id, status: { state: "completed" } } });
    expect(json).toHaveProperty("id");
  });

  it("tasks/send is answered to python-a2a, whose messages have no parts", async () => {
    const id = newTask();
    const message = { content: { type: "text", text: "berth" }, role: "user", message_id: "m-1" };
    const { json } = await post("tasks/send", { id, sessionId: null, message, status: { state: "submitted" } });
    expect(json["result"]).toMatchObject({ id, status: { state: "completed" } });
  });

  it.each([
    ["what has no id", { id: undefined as never }],
    ["what does not say that it is JSON-RPC", { id: undefined as never, jsonrpc: undefined as never }],
  ])("tasks/send takes %s and answers with the id null", async (_, envelope) => {
    const id = newTask();
    const { status, json } = await post("tasks/send", say(id, "berth"), envelope);
    expect({ status, json }).toMatchObject({ status: 200, json: { jsonrpc: "2.0", id: null, result: { id } } });
    expect((await post("tasks/get", { id })).json["result"]).toMatchObject({ id });
  });

  it("tasks/send names invalid fields in 0.1's terms", async () => {
    const { status, json } = await post("tasks/send", {
      id: "t",
      message: { role: "user", parts: [{ type: "video" }] },
    });
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        jsonrpc: "2.0",
        id: 1,
        error: {
          code: -32602,
          message: "invalid parameters: message.parts[0].type must be text, file or data",
        },
      },
    });
  });
});

describe("tasks/sendSubscribe", () => {
  it("tasks/sendSubscribe names its events, numbers none of them, and marks the last", async () => {
    const id = newTask();
    const frames = await stream("tasks/sendSubscribe", say(id, "berth"), { id: "rpc-7" });
    for (const { id: eventId, json } of frames) {
      expect(eventId).toBeUndefined();
      expect(json).toMatchObject({ jsonrpc: "2.0", id: "rpc-7", result: { id } });
    }
    expect(frames.filter(({ json }) => "artifact" in (json["result"] as JsonObject)).map(({ event }) => event)).toEqual(
      ["task_artifact_update", "task_artifact_update"],
    );
    expect(new Set(frames.map(({ event }) => event))).toEqual(new Set(["task_status_update", "task_artifact_update"]));
    const events = results(frames) as JsonObject[];
    expect(events.map(({ final = null }) => final).filter((final) => final === true)).toEqual([true]);
    expect(events.at(-1)).toMatchObject({ status: { state: "completed" }, final: true });
    expect(events.filter(({ artifact }) => artifact !== undefined)).toMatchObject([
      { artifact: { index: 0, name: "berth", append: false, lastChunk: false } },
      { artifact: { index: 0, append: true, lastChunk: true } },
    ]);
  });

  it("tasks/sendSubscribe ends with a question, and continues with its answer", async () => {
    const id = newTask();
    expect(results(await stream("tasks/sendSubscribe", say(id, "question"))).at(-1)).toMatchObject({
      status: { state: "input-required" },
      final: true,
    });
    const events = results(await stream("tasks/sendSubscribe", say(id, "berth"))) as JsonObject[];
    expect(events.map((event) => (event["status"] as JsonObject | undefined)?.["state"])).not.toContain(
      "input-required",
    );
    expect(events.at(-1)).toMatchObject({ status: { state: "completed" }, final: true });
  });

  it("tasks/sendSubscribe ends when access must be granted", async () => {
    const events = results(await stream("tasks/sendSubscribe", say(newTask(), "permission")));
    expect(events.at(-1)).toMatchObject({ status: { state: "input-required" }, final: true });
  });

  it("tasks/sendSubscribe sends a direct answer as the end of its task", async () => {
    const id = newTask();
    const events = results(await stream("tasks/sendSubscribe", say(id, "reply")));
    expect(events.at(-1)).toMatchObject({
      id,
      status: { state: "completed", message: { parts: [{ type: "text", text: "K4" }] } },
      final: true,
    });
  });

  it("tasks/sendSubscribe sends an error in its stream", async () => {
    const id = newTask();
    await post("tasks/send", say(id, "berth"));
    const [first] = await stream("tasks/sendSubscribe", say(id, "berth"));
    expect(first?.json).toEqual({ jsonrpc: "2.0", id: 2, error: { code: -32009, message: expect.any(String) } });
  });
});

describe("tasks/get and tasks/cancel", () => {
  it.each(["tasks/get", "tasks/cancel", "tasks/pushNotification/get"])(
    "the method %s of 0.1 does not find the task of anonymous callers",
    async (method) => {
      expect((await post(method, { id: "none" })).json["error"]).toMatchObject({ code: -32001 });
    },
  );

  it("tasks/get and tasks/cancel show no history unless a number is named", async () => {
    const id = newTask();
    await post("tasks/send", say(id, "berth"));
    expect((await post("tasks/get", { id, historyLength: 0 })).json["result"]).not.toHaveProperty("history");
    expect((await post("tasks/get", { id })).json["result"]).not.toHaveProperty("history");
    expect((await post("tasks/get", { id, historyLength: 5 })).json["result"]).toHaveProperty("history");
  });

  it("tasks/cancel cancels a task that waits", async () => {
    const id = newTask();
    await post("tasks/send", say(id, "question"));
    expect((await post("tasks/cancel", { id })).json["result"]).toMatchObject({ id, status: { state: "canceled" } });
    expect((await post("tasks/cancel", { id })).json["error"]).toMatchObject({ code: -32002 });
  });
});

describe("tasks/resubscribe", () => {
  it("tasks/resubscribe sends an ended task once more, and ends", async () => {
    const id = newTask();
    await post("tasks/send", say(id, "berth"));
    expect(results(await stream("tasks/resubscribe", { id, historyLength: 10 }))).toMatchObject([
      { id, artifact: { index: 0, append: false, lastChunk: true, parts: [{ type: "text", text: "K4" }] } },
      { id, status: { state: "completed" }, final: true },
    ]);
  });

  it("tasks/resubscribe starts again whatever event its caller names, since 0.1 has no event ids", async () => {
    const message = { messageId: newTask(), role: "ROLE_USER", parts: [{ text: "question" }] };
    const resumable = { "A2A-Version": "1.0", "A2A-Extensions": "urn:trivium:extension:resume:v1" };
    const [first] = await stream("SendStreamingMessage", { message }, { headers: resumable });
    const { task } = (first?.json["result"] ?? {}) as { task?: JsonObject };
    const id = String(task?.["id"]);
    const position = { "A2A-Version": "0.1", "Last-Event-ID": first?.id ?? "" };
    expect(position["Last-Event-ID"]).toContain(id);
    expect(results(await stream("tasks/resubscribe", { id }, { headers: position }))).toMatchObject([
      { id, status: { state: "input-required" }, final: true },
    ]);
  });

  it("tasks/resubscribe ends at once where the task waits for its caller", async () => {
    const id = newTask();
    await post("tasks/send", say(id, "question"));
    expect(results(await stream("tasks/resubscribe", { id }))).toMatchObject([
      { id, status: { state: "input-required" }, final: true },
    ]);
  });
});

describe("push configurations", () => {
  it.each([
    ["tasks/pushNotification/set", "tasks/pushNotification/get"],
    ["tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/get"],
  ])("push configurations of 0.1 are kept by %s, one for each task, and removed by null", async (set, get) => {
    const id = newTask();
    await post("tasks/send", say(id, "question"));
    expect((await post(get, { id })).json["result"]).toEqual({ id, pushNotificationConfig: null });
    const pushNotificationConfig = { url: hooks.url, token: "tk-1", authentication: { schemes: ["Bearer"] } };
    const { token: _, ...told } = pushNotificationConfig;
    expect((await post(set, { id, pushNotificationConfig })).json["result"]).toEqual({
      id,
      pushNotificationConfig: told,
    });
    const other = { url: `${hooks.url}/other` };
    expect((await post(set, { id, pushNotificationConfig: other })).json["result"]).toEqual({
      id,
      pushNotificationConfig: other,
    });
    expect((await post(get, { id })).json["result"]).toEqual({ id, pushNotificationConfig: other });
    expect((await post(set, { id, pushNotificationConfig: null })).json["result"]).toEqual({
      id,
      pushNotificationConfig: null,
    });
    expect((await post(get, { id })).json["result"]).toEqual({ id, pushNotificationConfig: null });
  });

  it("push configurations of 0.1 that are part of a send are called with the task, under its name", async () => {
    const id = newTask();
    const hook = hooks.next(id);
    await post("tasks/send", say(id, "berth", { pushNotification: { url: hooks.url, token: "tk-2" } }));
    const { headers, json } = await hook;
    expect(json).toMatchObject({ eventType: "taskUpdate", taskId: id, id, status: { state: expect.any(String) } });
    expect(headers["x-a2a-notification-token"]).toBe("tk-2");
    expect(headers["content-type"]).toBe("application/json");
    expect((await post("tasks/pushNotification/get", { id })).json["result"]).toMatchObject({
      pushNotificationConfig: { url: hooks.url },
    });
  });
});

describe("callers of other versions", () => {
  it("callers of other versions see a task of 0.1 under an id that is ours", async () => {
    const id = newTask();
    await post("tasks/send", say(id, "berth"));
    const list = await post("ListTasks", { contextId: `s-${id}` });
    const [task] = (list.json["result"] as { tasks: JsonObject[] }).tasks;
    expect(task?.["id"]).not.toBe(id);
    // Tasks of other versions are available in 0.1 under their ids.
    expect((await post("tasks/get", { id: task?.["id"] ?? "" })).json["result"]).toMatchObject({
      status: { state: "completed" },
    });
  });
});
