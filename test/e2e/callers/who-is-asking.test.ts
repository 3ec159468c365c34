import { A2AError, artifact, completed, inputRequired, type Task, working } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CallOptions } from "../../../src/protocol/context.js";
import type { Operations } from "../../../src/protocol/operations.js";
import { bareSocket, postJson, rawCall } from "../../support/http-agent.js";
import { errorOf, openStream, requestOf, say, stateOf, taskOf } from "../../support/say.js";
import { overEach, overEveryWire, type StartAgent, startAgent } from "../../support/serve-agent.js";
import { wiresThat } from "../../support/wires.js";

type Client = Operations<CallOptions>;

const as = (owner: string): CallOptions => ({ headers: { authorization: owner } });
const url = "http://127.0.0.1:9/hook";

/** An agent that requires a name in `authorization`. */
async function guarded(start: StartAgent, tenants: readonly string[] = []) {
  const release = Promise.withResolvers<void>();
  let turns = 0;
  const served = await start({
    tenants,
    push: { allow: "loopback" },
    authenticate({ header }) {
      const [owner, tenant] = (header("Authorization") ?? "").split("@");
      if (owner === undefined || owner === "")
        throw new A2AError("unauthenticated", "who are you?", { challenge: 'Bearer realm="x"' });
      if (owner === "mallory") throw new A2AError("permissionDenied", "not you");
      return tenant === undefined ? { owner } : { owner, tenant };
    },
    async *agent({ text }) {
      turns++;
      if (text === "ask") return yield inputRequired("more?");
      yield working();
      yield artifact("private");
      if (text === "run") await release.promise;
      yield completed();
    },
  });
  return { served, release, turns: () => turns };
}

/** Every operation on a task, as calls with a task's id. */
const onTask: Readonly<
  Record<string, (client: Client, id: string, options: CallOptions) => Promise<unknown> | AsyncIterable<unknown>>
> = {
  sendMessage: (client, taskId, options) => client.sendMessage(say("mine now", { taskId }), options),
  sendStreamingMessage: (client, taskId, options) => client.sendStreamingMessage(say("mine now", { taskId }), options),
  getTask: (client, id, options) => client.getTask(requestOf("getTask", { id }), options),
  cancelTask: (client, id, options) => client.cancelTask(requestOf("cancelTask", { id }), options),
  subscribeToTask: (client, id, options) => client.subscribeToTask(requestOf("subscribeToTask", { id }), options),
  createTaskPushNotificationConfig: (client, taskId, options) =>
    client.createTaskPushNotificationConfig(requestOf("createTaskPushNotificationConfig", { taskId, url }), options),
  getTaskPushNotificationConfig: (client, taskId, options) =>
    client.getTaskPushNotificationConfig(requestOf("getTaskPushNotificationConfig", { taskId, id: "hook" }), options),
  listTaskPushNotificationConfigs: (client, taskId, options) =>
    client.listTaskPushNotificationConfigs(requestOf("listTaskPushNotificationConfigs", { taskId }), options),
  deleteTaskPushNotificationConfig: (client, taskId, options) =>
    client.deleteTaskPushNotificationConfig(
      requestOf("deleteTaskPushNotificationConfig", { taskId, id: "hook" }),
      options,
    ),
};
const onTaskNames = Object.keys(onTask);

/** A task of Alice's, with a push configuration unless it is done. */
async function makeTask(client: Client, text: string): Promise<string> {
  const stream = await openStream(client.sendStreamingMessage(say(text), as("alice")));
  const { id } = taskOf(stream.firstItem.response);
  if (text !== "run") await stream.readRest();
  const hook = requestOf("createTaskPushNotificationConfig", { taskId: id, url, id: "hook" });
  if (text !== "done") await client.createTaskPushNotificationConfig(hook, as("alice"));
  return id;
}

function callOn(name: string, client: Client, id: string, options: CallOptions) {
  const call = onTask[name];
  if (call === undefined) throw new Error(`no call of ${name}`);
  return call(client, id, options);
}

overEveryWire((start) => {
  // Requirements: V1-ERR-2, V1-EQ-4, V1-AUTH-1, V1-AUTH-2, V1-SEC-6, V1-SEC-29, V03-TRANS-3, V03-AUTH-1, V03-AUTH-3
  it("an anonymous caller is refused on every operation, and nothing is executed", async () => {
    const { served, turns } = await guarded(start);
    await using _ = served;
    const calls = [
      served.client.sendMessage(say("go"), {}),
      served.client.sendStreamingMessage(say("go"), {}),
      ...onTaskNames.map((name) => callOn(name, served.client, "any", {})),
    ];
    const errors = await Promise.all(calls.map(errorOf));
    for (const error of errors) expect(error).toMatchObject({ code: "unauthenticated", message: "who are you?" });
    expect(turns()).toBe(0);
  });

  // Requirements: V1-ERR-4, V1-ERR-5, V1-AUTH-6, V03-AUTH-2
  it("a caller without permission gets permissionDenied, and nothing is executed", async () => {
    const { served, turns } = await guarded(start);
    await using _ = served;
    const error = await errorOf(served.client.sendMessage(say("go"), as("mallory")));
    expect(error).toMatchObject({ code: "permissionDenied", message: "not you" });
    expect(turns()).toBe(0);
  });

  it("a caller that is not known is refused, and no fault is logged", async () => {
    await using served = await start({ authenticate: async () => undefined, agent: async () => completed() });
    const error = await errorOf(served.client.sendMessage(say("go"), as("5e11")));
    expect(error).toMatchObject({ code: "unauthenticated", message: "authentication is required" });
    expect(served.log.filter(({ level }) => level === "error")).toEqual([]);
  });

  // Requirements: V1-SEC-16, V1-SEC-17
  it("the reason for a refusal is only in the log", async () => {
    await using served = await start({
      authenticate: () => Promise.reject(new Error("the key 5e11 has expired")),
      agent: async () => completed(),
    });
    const error = await errorOf(served.client.sendMessage(say("go"), as("5e11")));
    expect(error).toMatchObject({ code: "unauthenticated", message: "authentication is required" });
    expect(asText(error)).not.toContain("5e11");
    const [line, ...others] = served.log.filter(({ message }) => message === "a caller was refused");
    expect(others).toEqual([]);
    expect(String((line?.fields as { readonly err?: unknown })?.err)).toContain("5e11");
  });
});

overEach(wiresThat("take ids as they are given"), (start) => {
  let agent: Awaited<ReturnType<typeof guarded>>;
  beforeAll(async () => {
    agent = await guarded(start);
  });
  afterAll(async () => {
    agent.release.resolve();
    await agent.served[Symbol.asyncDispose]();
  });

  /** Alice's tasks, one for each text: no operation of a stranger changes them. */
  const tasks = new Map<string, Promise<string>>();
  function taskOfAlice(text: string): Promise<string> {
    const task = tasks.get(text) ?? makeTask(agent.served.client, text);
    tasks.set(text, task);
    return task;
  }

  describe.each(onTaskNames)("%s", (name) => {
    // Requirements: V1-SEND-5, V1-GET-1, V1-GET-2, V1-CANCEL-2, V1-SUB-4, V1-PCFG-4, V1-PCFG-7, V1-ERR-6, V1-ERR-9
    // Requirements: V1-ERR-10, V1-SEC-6, V1-SEC-8, V1-SEC-9, V1-SEC-26
    it.each(["done", "ask", "run"])("another caller's task is answered like an unknown one: %s", async (text) => {
      const { client } = agent.served;
      const id = await taskOfAlice(text);
      const before = await client.getTask(requestOf("getTask", { id }), as("alice"));
      const missing = id.replace(/.{4}$/, "0000");
      const foreign = await errorOf(callOn(name, client, id, as("bob")));
      const never = await errorOf(callOn(name, client, missing, as("bob")));
      expect(foreign.code).toBe("taskNotFound");
      expect(asText(foreign).replaceAll(id, "ID")).toBe(asText(never).replaceAll(missing, "ID"));
      const after = await client.getTask(requestOf("getTask", { id }), as("alice"));
      if (text !== "run") expect(after).toEqual(before);
      expect(stateOf(after)).not.toBe("CANCELED");
      const hooks = requestOf("listTaskPushNotificationConfigs", { taskId: id });
      const { configs } = await client.listTaskPushNotificationConfigs(hooks, as("alice"));
      if (text !== "done") expect(configs.map((each) => each.id)).toEqual(["hook"]);
    });
  });
});

overEach(wiresThat("list tasks"), (start) => {
  // Requirements: V1-LIST-1, V1-SEC-7
  it("a list holds only the caller's tasks, and its page tokens are invalid for other callers", async () => {
    const { served } = await guarded(start);
    await using _ = served;
    const { client } = served;
    const make = async (owner: string): Promise<Task> => taskOf(await client.sendMessage(say("done"), as(owner)));
    const alices = [await make("alice"), await make("alice")];
    await make("bob");
    const page = await client.listTasks(requestOf("listTasks", { pageSize: 1 }), as("alice"));
    expect([page.totalSize, page.tasks[0]?.id]).toEqual([2, alices[1]?.id]);
    const bobs = await client.listTasks(requestOf("listTasks"), as("bob"));
    expect(bobs.totalSize).toBe(1);
    const stolen = requestOf("listTasks", { pageToken: page.nextPageToken });
    expect(await errorOf(client.listTasks(stolen, as("bob")))).toMatchObject({ code: "invalidParams" });
  });
});

overEach(wiresThat("refer to tasks"), (start) => {
  it("a message that refers to another caller's task shows the agent nothing of it", async () => {
    const counts: number[] = [];
    await using served = await start({
      authenticate: ({ header }) => ({ owner: header("authorization") ?? "" }),
      async *agent({ references }) {
        counts.push((await references()).length);
        yield completed();
      },
    });
    const { id } = taskOf(await served.client.sendMessage(say("go"), as("alice")));
    for (const owner of ["bob", "alice"]) {
      await served.client.sendMessage(say("look", { referenceTaskIds: [id] }), as(owner));
    }
    expect(counts).toEqual([0, 0, 1]);
  });
});

overEach(wiresThat("name tenants"), (start) => {
  it("a tenant that exists keeps its own tasks, and one that does not is refused", async () => {
    const { served } = await guarded(start, ["north", "south"]);
    await using _ = served;
    const { client } = served;
    const { id } = taskOf(await client.sendMessage(say("done", { tenant: "north" }), as("alice")));
    expect((await client.getTask(requestOf("getTask", { id, tenant: "north" }), as("alice"))).id).toBe(id);
    for (const tenant of ["south", ""]) {
      const error = await errorOf(client.getTask(requestOf("getTask", { id, tenant }), as("alice")));
      expect(error).toMatchObject({ code: "taskNotFound" });
    }
    const west = await errorOf(client.getTask(requestOf("getTask", { id, tenant: "west" }), as("alice")));
    expect(west).toMatchObject({ code: "invalidParams", violations: [{ field: "tenant" }] });
  });

  it("a caller of one tenant cannot reach another by naming it", async () => {
    const { served } = await guarded(start, ["north", "south"]);
    await using _ = served;
    const { client } = served;
    const { id } = taskOf(await client.sendMessage(say("done"), as("alice@north")));
    expect((await client.getTask(requestOf("getTask", { id, tenant: "north" }), as("alice@north"))).id).toBe(id);
    const wish = requestOf("getTask", { id, tenant: "north" });
    expect((await errorOf(client.getTask(wish, as("alice@south")))).code).toBe("invalidParams");
    expect((await errorOf(client.getTask(requestOf("getTask", { id }), as("alice@south")))).code).toBe("taskNotFound");
  });
});

overEach(wiresThat("list tasks"), (start) => {
  it("an anonymous caller gets no list", async () => {
    const { served } = await guarded(start);
    await using _ = served;
    const error = await errorOf(served.client.listTasks(requestOf("listTasks"), {}));
    expect(error).toMatchObject({ code: "unauthenticated", message: "who are you?" });
  });
});

overEach(wiresThat("have an extended card"), (start) => {
  it("an anonymous caller gets no extended card", async () => {
    const { served } = await guarded(start);
    await using _ = served;
    const error = await errorOf(served.client.getExtendedAgentCard(requestOf("getExtendedAgentCard"), {}));
    expect(error).toMatchObject({ code: "unauthenticated" });
  });
});

overEveryWire((start) => {
  it("authenticate gets the bearer token, and none of another scheme", async () => {
    const bearers: unknown[] = [];
    await using served = await start({
      authenticate({ bearer }) {
        bearers.push(bearer);
        return { owner: "ada" };
      },
      agent: async () => artifact("done"),
    });
    for (const authorization of ["Bearer a.b-c", "bearer  x", "Basic a", "Bearer", "Bearer a b"]) {
      await served.client.sendMessage(say("hello"), { headers: { authorization } });
    }
    await served.client.sendMessage(say("hello"), {});
    expect(bearers).toEqual(["a.b-c", "x", undefined, undefined, undefined, undefined]);
  });
});

const asText = ({ code, message, metadata, violations, retryAfterMs }: A2AError): string =>
  JSON.stringify({ code, message, metadata, violations, retryAfterMs });

describe("over HTTP", () => {
  // Requirements: V1-ERR-3, V1-AUTH-2, V1-AUTH-3, V1-AUTH-6, V1-SEC-29, V03-CARDX-2, V03-AUTH-2
  it.each(["json-rpc", "http-json/message:send"])(
    "401 comes with the challenge, before the body is read: %s",
    async (path) => {
      const { served } = await guarded((options) => startAgent("JSONRPC", options));
      await using _ = served;
      const { status, headers } = await postJson(`${served.server.url}/${path}`, "{ no JSON at all");
      expect([status, headers["www-authenticate"]]).toEqual([401, 'Bearer realm="x"']);
      const socket = await bareSocket(served.server.port);
      const head = `POST /${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n`;
      socket.write(head);
      await new Promise((resolve) => socket.once("data", resolve));
      expect(socket.receivedText()).toMatch(/^HTTP\/1\.1 401 /);
      socket.destroy();
    },
  );

  // Requirements: V1-ERR-6, V1-ERR-10, V1-SEC-9
  it("the answer for another caller's task equals the answer for an unknown one, byte for byte", async () => {
    const { served } = await guarded((options) => startAgent("HTTP+JSON", options));
    await using _ = served;
    const { id } = taskOf(await served.client.sendMessage(say("done"), as("alice")));
    const missing = id.replace(/.{4}$/, "0000");
    for (const path of ["tasks/ID", "tasks/ID:subscribe", "tasks/ID/pushNotificationConfigs"]) {
      const get = (task: string) =>
        rawCall(`${served.server.url}/http-json/${path.replace("ID", task)}`, {
          method: "GET",
          headers: { authorization: "bob", "x-request-id": "same" },
        });
      const foreign = await get(id);
      const never = await get(missing);
      expect(foreign.text.replaceAll(id, "ID")).toBe(never.text.replaceAll(missing, "ID"));
      expect(foreign.status).toBe(404);
      expect({ ...foreign.headers, date: "" }).toEqual({ ...never.headers, date: "" });
    }
  });
});
