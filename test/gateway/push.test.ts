import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { gateway } from "trivium";
import { afterEach, describe, expect, it } from "vitest";
import { TaskPushNotificationConfigSchema } from "../../src/protocol/model.js";
import { type VersionName, versionTable } from "../../src/version/versions.js";
import { type Receiver, webhook } from "../push/receiver.js";
import { serveHttp } from "../support/http-agent.js";
import { errorOf, requestOf, say, stateOf, taskOf } from "../support/say.js";
import { bareTransport } from "../support/serve-agent.js";
import { wiresOf } from "../support/wires.js";
import { bindings as all, type Scene, startScene } from "./scene.js";

const versions = versionTable.map(({ name }) => name);
const pairs = versions.flatMap((behind) => versions.map((caller) => ({ behind, caller })));

// 0.2 and 0.3 send webhooks the same form.
const dialectOf = (version: VersionName): string => (version === "0.2" ? "0.3" : version);

let scene: Scene | undefined;
let hook: Receiver | undefined;
afterEach(async () => {
  await scene?.[Symbol.asyncDispose]();
  await hook?.[Symbol.asyncDispose]();
});

async function start(behind: VersionName, served: readonly VersionName[] = versions): Promise<Scene> {
  const bindings = ["JSONRPC"] as const;
  const push = { allow: "loopback" } as const;
  scene = await startScene({ behind: { bindings, versions: [behind], push }, gateway: { versions: served } });
  // The two oldest versions look alike until the first message.
  await (await scene.over("JSONRPC", { version: served[0] ?? behind })).send("echo hello");
  return scene;
}

const inlineConfig = (url: string) => ({
  returnImmediately: true,
  taskPushNotificationConfig: create(TaskPushNotificationConfigSchema, { url, token: "n-1" }),
});

describe.each(pairs)("a caller in version $caller, in front of an agent in version $behind", ({ caller, behind }) => {
  const isAlike = dialectOf(caller) === dialectOf(behind);

  it(`a caller ${isAlike ? "is told by the agent's own webhook calls" : "cannot register a webhook"}`, async () => {
    hook = await webhook();
    const { operations } = await (await start(behind)).over("JSONRPC", { version: caller });
    const send = operations.sendMessage(say("echo hi", { configuration: inlineConfig(hook.url) }), {});
    if (!isAlike) {
      expect((await errorOf(send)).code).toBe("pushNotificationNotSupported");
      const config = requestOf("createTaskPushNotificationConfig", { taskId: "t", url: hook.url });
      const refused = await errorOf(operations.createTaskPushNotificationConfig(config, {}));
      expect(refused.code).toBe("pushNotificationNotSupported");
      return;
    }
    await send;
    await hook.untilReceived(1);
    expect(hook.calls[0]?.headers["x-a2a-notification-token"]).toBe("n-1");
  });
});

describe("the card of a gateway", () => {
  const pushesOf = async (url: string, version?: string): Promise<unknown> => {
    const headers: Record<string, string> = version === undefined ? {} : { "A2A-Version": version };
    const card = await (await fetch(`${url}/.well-known/agent-card.json`, { headers })).json();
    return (card as { capabilities: { pushNotifications?: boolean } }).capabilities.pushNotifications === true;
  };

  it.each(versions)(
    "the card of a gateway offers push to callers that can read the calls of an agent in version %s, and to no others",
    async (behind) => {
      const { gateway } = await start(behind);
      const offered = await Promise.all(versions.map((version) => pushesOf(gateway.url, version)));
      expect(offered).toEqual(versions.map((version) => dialectOf(version) === dialectOf(behind)));
      expect(await pushesOf(gateway.url)).toBe(false);
      expect(gateway.card.capabilities?.pushNotifications).toBe(false);
    },
  );

  it("the card of a gateway offers push notifications to all callers when all can use them", async () => {
    const { gateway } = await start("1.0", ["1.0"]);
    expect([await pushesOf(gateway.url), gateway.card.capabilities?.pushNotifications]).toEqual([true, true]);
  });

  it("the card of a gateway offers no push notifications when the agent has none", async () => {
    await using quiet = await startScene({ behind: { versions: ["1.0"] }, gateway: { versions: ["1.0"] } });
    expect(await pushesOf(quiet.gateway.url)).toBe(false);
    const { operations } = await quiet.over("GRPC");
    const { id } = taskOf(await operations.sendMessage(say("echo x"), {}));
    const config = requestOf("createTaskPushNotificationConfig", { taskId: id, url: "http://127.0.0.1:1/" });
    expect((await errorOf(operations.createTaskPushNotificationConfig(config, {}))).code).toBe(
      "pushNotificationNotSupported",
    );
  });

  it("a gateway keeps push configurations at the agent, where its callers list and delete them", async () => {
    hook = await webhook();
    const { operations } = await (await start("1.0")).over("JSONRPC");
    const configuration = { returnImmediately: true };
    const task = taskOf(await operations.sendMessage(say("wait", { configuration }), {}));
    const config = await operations.createTaskPushNotificationConfig(
      requestOf("createTaskPushNotificationConfig", { taskId: task.id, url: hook.url }),
      {},
    );
    const list = async () =>
      (
        await operations.listTaskPushNotificationConfigs(
          requestOf("listTaskPushNotificationConfigs", { taskId: task.id }),
          {},
        )
      ).configs;
    expect((await list()).map(({ id }) => id)).toEqual([config.id]);
    const { id } = config;
    await operations.deleteTaskPushNotificationConfig(
      requestOf("deleteTaskPushNotificationConfig", { taskId: task.id, id }),
      {},
    );
    expect(await list()).toEqual([]);
    expect(stateOf(await operations.cancelTask(requestOf("cancelTask", { id: task.id }), {}))).toBe("CANCELED");
  });
});

describe("the secrets of a webhook", () => {
  /** An agent that repeats everything that it is told about webhooks. */
  async function startRepeating() {
    const told: JsonObject[] = [];
    const server = createServer(async (request, response) => {
      const body = request.method === "POST" ? ((await json(request)) as JsonObject) : undefined;
      const origin = `http://${request.headers.host}`;
      const supportedInterfaces = [{ url: origin, protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
      const capabilities = { pushNotifications: true };
      const skill = { id: "s", name: "s", description: "s", tags: [] };
      const card = { name: "r", description: "r", version: "1", supportedInterfaces, capabilities, skills: [skill] };
      const answers: Readonly<Record<string, () => unknown>> = {
        CreateTaskPushNotificationConfig: () => told.at(-1),
        GetTaskPushNotificationConfig: () => told[0],
        ListTaskPushNotificationConfigs: () => ({ configs: told.slice(0, 1) }),
      };
      const method = String(body?.["method"]);
      if (method.startsWith("Create")) told.push({ id: "h", ...(body?.["params"] as JsonObject) });
      const error = { code: -32001, message: "Task not found" };
      const outcome = method in answers ? { result: answers[method]?.() } : { error };
      const answer = body === undefined ? card : { jsonrpc: "2.0", id: body["id"], ...outcome };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
    return { told, served: await serveHttp(server) };
  }

  it.each(wiresOf("1.0").filter((wire) => wire !== "in-process"))(
    "the secrets of a webhook are passed on and not told again, whatever the agent answers (%s)",
    async (wire) => {
      const { told, served } = await startRepeating();
      await using _ = served;
      const front = await gateway({
        upstream: served.url,
        port: 0,
        drainMs: 0,
        logger: false,
        versions: ["1.0"],
        bindings: all,
      });
      const client = await bareTransport(wire, front);
      const authentication = { scheme: "Bearer", credentials: "s3cret" };
      const config = { taskId: "t", url: "http://hook.example/", token: "t0ken", authentication };
      const wanted = create(TaskPushNotificationConfigSchema, config);
      const made = await client.createTaskPushNotificationConfig(wanted, {});
      const got = await client.getTaskPushNotificationConfig(
        requestOf("getTaskPushNotificationConfig", { taskId: "t", id: "h" }),
        {},
      );
      const list = requestOf("listTaskPushNotificationConfigs", { taskId: "t" });
      const { configs } = await client.listTaskPushNotificationConfigs(list, {});
      const kept = { ...config, id: "h", token: "", authentication: { scheme: "Bearer", credentials: "" } };
      for (const each of [made, got, ...configs]) expect(each).toMatchObject(kept);
      expect([told[0], configs.length]).toMatchObject([config, 1]);
      await client.close?.();
      await front.close();
    },
  );
});
