import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { StreamResponse, TaskPushNotificationConfig } from "@a2a-js/sdk";
import { send, state, textOf, waiting } from "./peer.mjs";

export const cases = {
  async "push-config"({ full }) {
    const client = await full();
    const { id: taskId } = await waiting(client);
    const wanted = {
      taskId,
      id: "mine",
      url: "http://127.0.0.1:9/hook",
      token: "t0ken",
      authentication: { scheme: "Bearer", credentials: "very-secret" },
    };
    const made = await client.createTaskPushNotificationConfig(TaskPushNotificationConfig.fromJSON(wanted));
    assert.deepEqual([made.id, made.taskId, made.url], ["mine", taskId, wanted.url]);
    assert.notEqual(made.authentication?.credentials, "very-secret");
    const named = await client.createTaskPushNotificationConfig(
      TaskPushNotificationConfig.fromJSON({ taskId, url: "http://127.0.0.1:9/other" }),
    );
    assert.notEqual(named.id, "");
    const got = await client.getTaskPushNotificationConfig({ tenant: "", taskId, id: "mine" });
    assert.equal(got.url, wanted.url);
    const list = () => client.listTaskPushNotificationConfig({ tenant: "", taskId, pageSize: 0, pageToken: "" });
    assert.deepEqual((await list()).configs.map(({ id }) => id).sort(), ["mine", named.id].sort());
    await client.deleteTaskPushNotificationConfig({ tenant: "", taskId, id: "mine" });
    assert.deepEqual(
      (await list()).configs.map(({ id }) => id),
      [named.id],
    );
    await client.cancelTask({ tenant: "", id: taskId });
  },

  async "push-delivery"({ full }) {
    const client = await full();
    await using hook = await receiver();
    const { id: taskId } = await waiting(client);
    const authentication = { scheme: "Bearer", credentials: "cr3d" };
    const config = { taskId, url: hook.url, token: "t0ken", authentication };
    await client.createTaskPushNotificationConfig(TaskPushNotificationConfig.fromJSON(config));
    await client.sendMessage(send("go", { taskId }));
    await hook.ended;
    assert.ok(hook.calls.every(({ headers }) => headers["x-a2a-notification-token"] === "t0ken"));
    assert.ok(hook.calls.every(({ headers }) => headers.authorization === "Bearer cr3d"));
    const artifact = hook.calls.find(({ payload }) => payload.$case === "artifactUpdate");
    assert.equal(textOf(artifact.payload.value.artifact), "heard go");
    assert.equal(state(hook.calls.at(-1).payload.value), "COMPLETED");
  },

  async "push-inline"({ full }) {
    await using hook = await receiver();
    const configuration = { taskPushNotificationConfig: { url: hook.url, token: "inline" } };
    const task = await (await full()).sendMessage(send("work", { configuration }));
    assert.equal(state(task), "COMPLETED");
    await hook.ended;
    assert.ok(hook.calls.every(({ headers }) => headers["x-a2a-notification-token"] === "inline"));
    assert.equal(hook.calls.at(-1).payload.value.taskId, task.id);
  },
};

/** A webhook that keeps what it is sent; `ended` resolves with the status update COMPLETED. */
async function receiver() {
  const calls = [];
  let end;
  const ended = new Promise((resolve) => {
    end = resolve;
  });
  const server = createServer(async (request, response) => {
    const { payload } = StreamResponse.fromJSON(JSON.parse(await buffer(request)));
    calls.push({ headers: request.headers, payload });
    response.writeHead(204).end();
    if (payload.$case === "statusUpdate" && state(payload.value) === "COMPLETED") end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    calls,
    ended,
    url: `http://127.0.0.1:${server.address().port}/hook`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
