import { type Agent, artifact, completed, reply, working } from "trivium";
import { describe, expect, it } from "vitest";
import { postJson, type RawReply, rawCall } from "../support/http-agent.js";
import { requestOf, say, taskOf } from "../support/say.js";
import { type ServedAgent, startAgent } from "../support/serve-agent.js";

// The exact bytes of the two JSON bindings, where they matter.

const agent: Agent = async function* ({ text }) {
  if (text === "reply") return yield reply("pong");
  yield working("on it");
  yield artifact("done", { artifactId: "x", lastChunk: true });
};

const params = (text: string) => ({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text }] } });

/** Calls a method over JSON-RPC. */
function rpc(served: ServedAgent, method: string, callParams: unknown, id: unknown = "an id"): Promise<RawReply> {
  return postJson(`${served.server.url}/json-rpc`, { jsonrpc: "2.0", id, method, params: callParams });
}

function http(
  served: ServedAgent,
  call: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<RawReply> {
  const [method = "", path = ""] = call.split(" ");
  const url = `${served.server.url}/http-json${path}`;
  if (body === undefined) return rawCall(url, { method, headers });
  return rawCall(url, {
    method,
    headers: { "content-type": "application/a2a+json", ...headers },
    body: JSON.stringify(body),
  });
}

/** The objects in the `data:` lines of an event stream. */
const eventsIn = (text: string): Record<string, unknown>[] =>
  text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6))] : []));

const namesIn = (json: unknown): string[] => {
  if (Array.isArray(json)) return json.flatMap(namesIn);
  if (typeof json !== "object" || json === null) return [];
  return Object.entries(json).flatMap(([name, value]) => [name, ...namesIn(value)]);
};

const time = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);

describe("JSON", () => {
  // Requirements: V1-JSON-1, V1-JSON-2, V1-JSON-3, V1-TIME-1, V1-TIME-2, V1-TIME-4
  it("a task in JSON has lowerCamelCase members, enum names, UTC times in milliseconds, and no kind", async () => {
    await using served = await startAgent("JSONRPC", { agent });
    const { result } = JSON.parse((await rpc(served, "SendMessage", params("go"))).text);
    expect(Object.keys(result)).toEqual(["task"]);
    expect(result.task).toMatchObject({
      status: { state: "TASK_STATE_COMPLETED", timestamp: time },
      history: [{ role: "ROLE_USER" }, { role: "ROLE_AGENT" }],
      artifacts: [{ artifactId: "x", parts: [{ text: "done" }] }],
    });
    for (const name of namesIn(result)) expect(name).toMatch(/^[a-z][a-zA-Z]*$/);
    expect(namesIn(result)).not.toContain("kind");
  });

  // Requirements: V1-LIST-4, V1-LIST-6, V1-LIST-7, V1-LIST-10, V1-PRES-1
  it("required members of a JSON list are present when empty; artifacts and history are absent", async () => {
    await using served = await startAgent("JSONRPC", { agent });
    const empty = JSON.parse((await rpc(served, "ListTasks", {})).text).result;
    expect(empty).toEqual({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
    await rpc(served, "SendMessage", params("go"));
    const { tasks, ...rest } = JSON.parse((await rpc(served, "ListTasks", {})).text).result;
    expect(rest).toEqual({ nextPageToken: "", pageSize: 50, totalSize: 1 });
    expect(Object.keys(tasks[0]).toSorted((left, right) => left.localeCompare(right))).toEqual([
      "contextId",
      "id",
      "status",
    ]);
    const full = JSON.parse((await rpc(served, "ListTasks", { includeArtifacts: true })).text).result;
    expect(full.tasks[0].artifacts).toHaveLength(1);
  });

  // Requirements: V1-HIST-3
  it("history is left out of the JSON when none is asked for", async () => {
    await using served = await startAgent("JSONRPC", { agent });
    const { id } = taskOf(await served.client.sendMessage(say("go"), {}));
    const got = JSON.parse((await rpc(served, "GetTask", { id, historyLength: 0 })).text).result;
    expect(got).not.toHaveProperty("history");
    expect(got).toHaveProperty("artifacts");
  });

  // Requirements: V1-PRES-5
  it("unknown members of JSON are ignored on every level", async () => {
    await using served = await startAgent("JSONRPC", { agent });
    const { message } = params("reply");
    const odd = { extra: 1, message: { ...message, extra: {}, parts: [{ text: "reply", extra: [] }] } };
    expect(JSON.parse((await rpc(served, "SendMessage", odd)).text).result).toHaveProperty("message");
    expect((await http(served, "POST /message:send?extra=1", odd)).status).toBe(200);
  });
});

describe("JSON-RPC", () => {
  // Requirements: V1-SEND-2, V1-RPC-2, V1-RPC-3
  it.each(["a", 7, null])(
    "a JSON-RPC answer has the id of its request, and exactly one of result and error: %j",
    async (id) => {
      await using served = await startAgent("JSONRPC", { agent });
      const good = await rpc(served, "SendMessage", params("reply"), id);
      expect(good.headers["content-type"]).toBe("application/json");
      expect(JSON.parse(good.text)).toEqual({ jsonrpc: "2.0", id, result: { message: expect.any(Object) } });
      const bad = await rpc(served, "GetTask", { id: "none" }, id);
      expect([bad.status, bad.headers["content-type"]]).toEqual([200, "application/json"]);
      expect(JSON.parse(bad.text)).toEqual({ jsonrpc: "2.0", id, error: expect.any(Object) });
    },
  );

  // Requirements: V1-RPC-4
  it("a JSON-RPC stream is made of whole responses with the id of the request and one member", async () => {
    await using served = await startAgent("JSONRPC", { agent });
    const { status, headers, text } = await rpc(served, "SendStreamingMessage", params("go"));
    expect([status, headers["content-type"]]).toEqual([200, "text/event-stream"]);
    const events = eventsIn(text) as { readonly result: object }[];
    for (const event of events) expect(event).toMatchObject({ jsonrpc: "2.0", id: "an id" });
    expect(events.map(({ result }) => Object.keys(result).join())).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
  });

  // Requirements: V1-ERR-15, V1-ERR-16, V1-ERR-21, V1-RPC-5
  it("a JSON-RPC error has a code, a message, and typed details with the reason", async () => {
    await using served = await startAgent("JSONRPC", { agent });
    const { error } = JSON.parse((await rpc(served, "GetTask", { id: "none" })).text);
    expect(error).toEqual({
      code: -32001,
      message: "Task not found",
      data: [
        {
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "TASK_NOT_FOUND",
          domain: "a2a-protocol.org",
          metadata: { taskId: "none" },
        },
      ],
    });
    const invalid = JSON.parse((await rpc(served, "ListTasks", { pageSize: 150, status: "RUNNING" })).text).error;
    expect(invalid.code).toBe(-32602);
    const details = invalid.data.find((each: { readonly "@type": string }) => each["@type"].endsWith("BadRequest"));
    const fields = details.fieldViolations.map(({ field }: { readonly field: string }) => field);
    expect(new Set(fields)).toEqual(new Set(["pageSize", "status"]));
  });

  it("the JSON-RPC result of a delete is an empty object", async () => {
    await using served = await startAgent("JSONRPC", { agent: async () => completed(), push: { allow: "loopback" } });
    const { id } = taskOf(await served.client.sendMessage(say("go"), {}));
    const { result } = JSON.parse(
      (await rpc(served, "DeleteTaskPushNotificationConfig", { taskId: id, id: "x" })).text,
    );
    expect(result).toEqual({});
  });
});

describe("HTTP+JSON", () => {
  // Requirements: V1-HTTP-1
  it("an HTTP+JSON answer is the bare object, with the A2A media type", async () => {
    await using served = await startAgent("HTTP+JSON", { agent });
    const { status, headers, text } = await http(served, "POST /message:send", params("reply"));
    expect([status, headers["content-type"]]).toEqual([200, "application/a2a+json"]);
    expect(Object.keys(JSON.parse(text))).toEqual(["message"]);
  });

  // Requirements: V1-HTTP-7
  it("an HTTP+JSON stream is made of bare events", async () => {
    await using served = await startAgent("HTTP+JSON", { agent });
    const { headers, text } = await http(served, "POST /message:stream", params("go"));
    expect(headers["content-type"]).toBe("text/event-stream");
    expect(eventsIn(text).map((event) => Object.keys(event).join())).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
  });

  // Requirements: V1-ERR-15, V1-ERR-16, V1-ERR-20, V1-ERR-23
  it("an HTTP+JSON error is one object with code, status, message and typed details", async () => {
    await using served = await startAgent("HTTP+JSON", { agent });
    const { status, headers, text } = await http(served, "GET /tasks/none");
    expect([status, headers["content-type"]]).toEqual([404, "application/json"]);
    expect(JSON.parse(text)).toEqual({
      error: {
        code: 404,
        status: "NOT_FOUND",
        message: "Task not found",
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            reason: "TASK_NOT_FOUND",
            domain: "a2a-protocol.org",
            metadata: { taskId: "none" },
          },
        ],
      },
    });
  });

  // Requirements: V1-HTTP-10
  it("every HTTP+JSON route exists, also with a tenant prefix", async () => {
    await using served = await startAgent("HTTP+JSON", { agent, tenants: ["north"], push: { allow: "loopback" } });
    for (const tenant of ["", "/north"]) {
      const body = await http(served, `POST ${tenant}/message:send`, params("go"));
      const { id } = JSON.parse(body.text).task;
      const ask = async (call: string, callParams?: unknown): Promise<number> =>
        (await http(served, call.replace(" ", ` ${tenant}`), callParams)).status;
      expect(await ask("POST /message:stream", params("go"))).toBe(200);
      expect(await ask(`GET /tasks/${id}`)).toBe(200);
      expect(await ask("GET /tasks?pageSize=1&status=TASK_STATE_COMPLETED&includeArtifacts=true")).toBe(200);
      expect(await ask(`POST /tasks/${id}:cancel`, {})).toBe(400);
      expect(await ask(`GET /tasks/${id}:subscribe`)).toBe(400);
      expect(await ask(`POST /tasks/${id}:subscribe`)).toBe(400);
      expect(await ask(`GET /tasks/${id}/pushNotificationConfigs`)).toBe(200);
      expect(await ask(`GET /tasks/${id}/pushNotificationConfigs/none`)).toBe(404);
      expect(await ask(`DELETE /tasks/${id}/pushNotificationConfigs/none`)).toBe(200);
      expect(await ask("GET /extendedAgentCard")).toBe(400);
      expect(await ask("GET /nothing")).toBe(404);
    }
  });

  // Requirements: V1-VER-6, V1-CARD-11
  it("the card shows no patch number of the protocol", async () => {
    await using served = await startAgent("HTTP+JSON", { agent });
    const versions = served.server.card.supportedInterfaces.map(({ protocolVersion }) => protocolVersion);
    expect(versions).toEqual(["1.0", "1.0", "1.0", "0.3", "0.3", "0.3"]);
    expect((await served.client.listTasks(requestOf("listTasks"), {})).totalSize).toBe(0);
  });
});
