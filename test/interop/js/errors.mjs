import assert from "node:assert/strict";
import { SendMessageRequest, TaskPushNotificationConfig, TaskState } from "@a2a-js/sdk";
import { as, collect, fails, send, waiting } from "./peer.mjs";

const nobody = { tenant: "", id: "00000000-0000-7000-8000-000000000000" };

const finished = async (client) => ({ tenant: "", id: (await client.sendMessage(send("work"))).id });

const picture = () => send([{ text: "echo" }, { raw: "AAAA", mediaType: "image/png" }]);

export const cases = {
  async "error-get"({ full }) {
    const client = await full();
    await fails("TaskNotFoundError", client.getTask(nobody));
  },

  async "error-cancel-missing"({ full }) {
    const client = await full();
    await fails("TaskNotFoundError", client.cancelTask(nobody));
  },

  async "error-subscribe-missing"({ full }) {
    const client = await full();
    await fails("TaskNotFoundError", collect(client.resubscribeTask(nobody)));
  },

  async "error-send-missing"({ full }) {
    const client = await full();
    await fails("TaskNotFoundError", client.sendMessage(send("pong", { taskId: nobody.id })));
  },

  async "error-foreign"({ full }) {
    const client = await full();
    const { id } = await waiting(client, as("anna"));
    await fails("TaskNotFoundError", client.getTask({ tenant: "", id }, as("bert")));
    await fails("TaskNotFoundError", client.cancelTask({ tenant: "", id }, as("bert")));
    await fails("TaskNotFoundError", collect(client.resubscribeTask({ tenant: "", id }, as("bert"))));
    await client.cancelTask({ tenant: "", id }, as("anna"));
  },

  async "error-cancel-finished"({ full }) {
    const client = await full();
    await fails("TaskNotCancelableError", client.cancelTask(await finished(client)));
  },

  async "error-subscribe-finished"({ full }) {
    const client = await full();
    await fails("UnsupportedOperationError", collect(client.resubscribeTask(await finished(client))));
  },

  async "error-send-finished"({ full }) {
    const client = await full();
    const { id: taskId } = await finished(client);
    await fails("UnsupportedOperationError", client.sendMessage(send("more", { taskId })));
  },

  async "error-content-type"({ full }) {
    const client = await full();
    await fails("ContentTypeNotSupportedError", client.sendMessage(picture()));
  },

  async "error-content-type-agent"({ full }) {
    const client = await full();
    await fails("ContentTypeNotSupportedError", client.sendMessage(send("picky")));
  },

  async "error-content-type-stream"({ full }) {
    const client = await full();
    await fails("ContentTypeNotSupportedError", collect(client.sendMessageStream(send("picky"))));
  },

  async "error-unauthenticated"({ full, unauthenticated }) {
    const client = await full();
    await assert.rejects(client.sendMessage(send("pong"), as("stranger")), unauthenticated);
    await assert.rejects(collect(client.sendMessageStream(send("pong"), as("stranger"))), unauthenticated);
  },

  async "error-params"({ full }) {
    const client = await full();
    const message = { messageId: "m", role: "ROLE_USER", parts: [] };
    await fails("RequestMalformedError", client.sendMessage(SendMessageRequest.fromJSON({ message })));
  },

  async "error-page-token"({ full }) {
    const client = await full();
    const query = { tenant: "", contextId: "", status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: "made up" };
    await fails("RequestMalformedError", client.listTasks(query));
  },

  async "error-version"({ full }) {
    // The client would put its own version over this one; its transport does not.
    const { transport } = await full();
    const options = { serviceParameters: { "A2A-Version": "9.9" } };
    await fails("VersionNotSupportedError", transport.getTask(nobody, options));
  },

  async "error-push"({ believing }) {
    // With the published card the client would not even ask; the same below.
    const client = await believing(({ capabilities }) => {
      capabilities.pushNotifications = true;
    });
    const { id: taskId } = await finished(client);
    const config = TaskPushNotificationConfig.fromJSON({ taskId, url: "http://127.0.0.1:9/" });
    const name = "PushNotificationNotSupportedError";
    await fails(name, client.createTaskPushNotificationConfig(config));
    await fails(name, client.getTaskPushNotificationConfig({ tenant: "", taskId, id: "x" }));
    await fails(name, client.listTaskPushNotificationConfig({ tenant: "", taskId, pageSize: 0, pageToken: "" }));
    await fails(name, client.deleteTaskPushNotificationConfig({ tenant: "", taskId, id: "x" }));
  },

  async "error-push-inline"({ plain }) {
    const client = await plain();
    const configuration = { taskPushNotificationConfig: { url: "http://127.0.0.1:9/" } };
    await fails("PushNotificationNotSupportedError", client.sendMessage(send("work", { configuration })));
  },

  async "error-push-missing"({ full }) {
    const client = await full();
    const { id: taskId } = await finished(client);
    await fails("TaskNotFoundError", client.getTaskPushNotificationConfig({ tenant: "", taskId, id: "none" }));
  },

  async "error-extended-card"({ believing }) {
    const client = await believing(({ capabilities }) => {
      capabilities.extendedAgentCard = true;
    });
    await fails("UnsupportedOperationError", client.getAgentCard());
  },
};
