import assert from "node:assert/strict";
import { receiver } from "../receiver.mjs";
import { send, textOf, waiting } from "./peer.mjs";

const isEnd = ({ kind, status }) => kind === "task" && status.state === "completed";

export const cases = {
  async "push-config"({ full }) {
    const client = await full();
    const { id: taskId } = await waiting(client);
    const url = "http://127.0.0.1:9/hook";
    const authentication = { schemes: ["Bearer"], credentials: "very-secret" };
    const wanted = { id: "mine", url, token: "t0ken", authentication };
    const made = await client.setPush({ taskId, pushNotificationConfig: wanted });
    assert.deepEqual(
      [made.taskId, made.pushNotificationConfig.id, made.pushNotificationConfig.url],
      [taskId, "mine", url],
    );
    assert.notEqual(made.pushNotificationConfig.authentication?.credentials, "very-secret");
    const got = await client.getPush({ id: taskId, pushNotificationConfigId: "mine" });
    assert.deepEqual([got.taskId, got.pushNotificationConfig.url], [taskId, url]);
    await client.cancel({ id: taskId });
  },

  async "push-list"({ full }) {
    const client = await full();
    const { id: taskId } = await waiting(client);
    for (const id of ["a", "b"]) {
      await client.setPush({ taskId, pushNotificationConfig: { id, url: `http://127.0.0.1:9/${id}` } });
    }
    const ids = async () =>
      (await client.listPush({ id: taskId })).map((each) => each.pushNotificationConfig.id).sort();
    assert.deepEqual(await ids(), ["a", "b"]);
    await client.deletePush({ id: taskId, pushNotificationConfigId: "a" });
    assert.deepEqual(await ids(), ["b"]);
    await client.cancel({ id: taskId });
  },

  async "push-unnamed"({ full }) {
    const client = await full();
    const { id: taskId } = await waiting(client);
    const url = "http://127.0.0.1:9/hook";
    const made = await client.setPush({ taskId, pushNotificationConfig: { url } });
    assert.ok(made.pushNotificationConfig.id);
    const got = await client.getPush({ id: taskId });
    assert.deepEqual(got.pushNotificationConfig.url, url);
    await client.cancel({ id: taskId });
  },

  async "push-delivery"({ full }) {
    const client = await full();
    await using hook = await receiver(isEnd);
    const { id: taskId } = await waiting(client);
    const authentication = { schemes: ["Bearer"], credentials: "cr3d" };
    await client.setPush({ taskId, pushNotificationConfig: { url: hook.url, token: "t0ken", authentication } });
    await client.send(send("go", { taskId }));
    const task = await hook.ended;
    assert.deepEqual([task.id, textOf(task.artifacts[0])], [taskId, "heard go"]);
    assert.ok(hook.calls.every(({ body }) => body.kind === "task" && body.id === taskId));
    assert.ok(hook.calls.every(({ headers }) => headers["x-a2a-notification-token"] === "t0ken"));
    assert.ok(hook.calls.every(({ headers }) => headers.authorization === "Bearer cr3d"));
    assert.ok(hook.calls.every(({ headers }) => headers["content-type"].startsWith("application/json")));
  },

  async "push-inline"({ full }) {
    await using hook = await receiver(isEnd);
    const configuration = { blocking: true, pushNotificationConfig: { url: hook.url, token: "inline" } };
    const task = await (await full()).send(send("work", { configuration }));
    assert.equal((await hook.ended).id, task.id);
    assert.ok(hook.calls.every(({ headers }) => headers["x-a2a-notification-token"] === "inline"));
  },
};
