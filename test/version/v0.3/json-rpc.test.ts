import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { json } from "../../support/raw-http.js";
import { eventsOf, messageOf, startRpc, taskOf } from "./rpc-server.js";

describe("a server that is called in 0.3 without saying so", () => {
  // Requirements: V03-RPC-5, V03-SEND-1, V03-TASK-1
  it("JSON-RPC of 0.3 answers a send with the task or the message, bare", async () => {
    await using rpc = await startRpc();
    const done = await rpc.call("message/send", { message: messageOf("go") });
    expect(done["result"]).toMatchObject({
      kind: "task",
      status: { state: "completed" },
      artifacts: [{ parts: [{ kind: "text", text: "K4" }] }],
      history: [{ kind: "message", role: "user" }],
    });
    const answer = await rpc.call("message/send", { message: messageOf("hello") });
    expect(answer["result"]).toMatchObject({ kind: "message", role: "agent", parts: [{ kind: "text", text: "hi" }] });
  });

  // Requirements: V03-SEND-5
  it("JSON-RPC of 0.3 waits unless blocking is off", async () => {
    await using rpc = await startRpc();
    const sendWith = (configuration: JsonObject) =>
      rpc.call("message/send", { message: messageOf("ask"), configuration });
    for (const configuration of [{}, { blocking: true }]) {
      expect((await sendWith(configuration))["result"]).toMatchObject({ status: { state: "input-required" } });
    }
    const early = taskOf(await sendWith({ blocking: false }));
    expect(early).toMatchObject({ kind: "task", status: { state: expect.stringMatching(/submitted|working/) } });
  });

  // Requirements: V03-SEND-6
  it("JSON-RPC of 0.3 cuts the history to the requested length", async () => {
    await using rpc = await startRpc();
    const { id } = taskOf(await rpc.call("message/send", { message: messageOf("go") }));
    expect((await rpc.call("tasks/get", { id }))["result"]).toHaveProperty("history.length", 1);
    expect((await rpc.call("tasks/get", { id, historyLength: 1 }))["result"]).toHaveProperty("history.length", 1);
    expect((await rpc.call("tasks/get", { id, historyLength: 0 }))["result"]).not.toHaveProperty("history");
  });

  // Requirements: V03-SSE-1, V03-SSE-2, V03-SSE-3, V03-SSE-8
  it("JSON-RPC of 0.3 streams the task first, and marks its end once", async () => {
    await using rpc = await startRpc();
    const events = await rpc.stream("message/stream", { message: messageOf("go") });
    expect(events[0]).toMatchObject({ kind: "task" });
    expect(events.at(-1)).toMatchObject({ kind: "status-update", status: { state: "completed" }, final: true });
    expect(events.filter(({ final }) => final === true)).toHaveLength(1);
    expect(new Set(events.map(({ kind }) => kind))).toEqual(new Set(["task", "status-update", "artifact-update"]));
  });

  // Requirements: V03-SSE-5
  it("JSON-RPC of 0.3 ends the stream of a send with its question, and continues with the answer", async () => {
    await using rpc = await startRpc();
    const opening = await rpc.stream("message/stream", { message: messageOf("ask") });
    expect(opening.at(-1)).toMatchObject({ status: { state: "input-required" }, final: true });
    const taskId = opening[0]?.["id"] as string;
    const events = await rpc.stream("message/stream", { message: messageOf("K4", { taskId }) });
    expect(events[0]).toMatchObject({ kind: "task", id: taskId });
    expect(events.at(-1)).toMatchObject({ status: { state: "completed" }, final: true });
    expect(events.filter(({ final }) => final === true)).toHaveLength(1);
  });

  // Requirements: V03-SSE-3
  it("JSON-RPC of 0.3 streams a direct answer as one message", async () => {
    await using rpc = await startRpc();
    expect(await rpc.stream("message/stream", { message: messageOf("hello") })).toMatchObject([{ kind: "message" }]);
  });

  // Requirements: V03-SSE-14
  it("JSON-RPC of 0.3 gives an ended task to callers that resume it, and marks the end", async () => {
    await using rpc = await startRpc();
    const { id } = taskOf(await rpc.call("message/send", { message: messageOf("go") }));
    expect(await rpc.stream("tasks/resubscribe", { id })).toMatchObject([
      { kind: "task", id, status: { state: "completed" } },
      { kind: "status-update", taskId: id, status: { state: "completed" }, final: true },
    ]);
  });

  // Requirements: V03-SSE-13
  it("JSON-RPC of 0.3 resumes after an event that the caller names", async () => {
    await using rpc = await startRpc();
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: "q",
      method: "message/stream",
      params: { message: messageOf("go") },
    });
    const { text } = await rpc.post(body);
    const [first, second] = [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id);
    const { id } = eventsOf(text)[0] as { id: string };
    const headers = { ...json, Accept: "text/event-stream", "Last-Event-ID": second ?? "" };
    const rest = await rpc.stream("tasks/resubscribe", { id }, headers);
    expect(first).toBeDefined();
    expect(rest).toEqual(eventsOf(text).slice(2));
  });

  // Requirements: V03-RPC-5, V03-TASK-4, V03-TASK-5
  it("JSON-RPC of 0.3 cancels, and reports what cannot be canceled", async () => {
    await using rpc = await startRpc();
    const { id } = taskOf(await rpc.call("message/send", { message: messageOf("ask") }));
    expect((await rpc.call("tasks/cancel", { id }))["result"]).toMatchObject({ id, status: { state: "canceled" } });
    expect((await rpc.call("tasks/cancel", { id }))["error"]).toMatchObject({ code: -32002 });
  });
});

describe("names in snake case", () => {
  const message = {
    message_id: "m",
    role: "user",
    parts: [{ kind: "file", file: { bytes: "aGk=", mime_type: "text/plain" }, metadata: { own_name: 1 } }],
    metadata: { own_name: { deep_name: 2 } },
  };

  it("names in snake case are read as Python's server does, and names in free JSON stay as they are", async () => {
    await using rpc = await startRpc();
    const task = await rpc.call("message/send", { message, configuration: { history_length: 5 } });
    expect(task["result"]).toMatchObject({
      history: [
        {
          messageId: "m",
          parts: [{ file: { mimeType: "text/plain" }, metadata: { own_name: 1 } }],
          metadata: { own_name: { deep_name: 2 } },
        },
      ],
    });
  });

  it("names in snake case give way to the same names in camel case", async () => {
    await using rpc = await startRpc();
    const both = { ...message, messageId: "camel" };
    const task = await rpc.call("message/send", { message: both });
    expect(task["result"]).toMatchObject({ history: [{ messageId: "camel" }] });
  });

  it("names in snake case are read in every call", async () => {
    await using rpc = await startRpc();
    const { result } = await rpc.call("message/send", { message });
    const { id } = result as { id: string };
    const task = await rpc.call("tasks/get", { id, history_length: 0 });
    expect(task["result"]).not.toHaveProperty("history");
  });
});
