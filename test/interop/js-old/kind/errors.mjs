import { collect, fails, send, waiting } from "./peer.mjs";

const nobody = { id: "00000000-0000-7000-8000-000000000000" };

const finished = async (client) => ({ id: (await client.send(send("work"))).id });

export const cases = {
  async "error-get"(peer) {
    await fails(peer, "TaskNotFound", (await peer.full()).get(nobody));
  },

  async "error-cancel-missing"(peer) {
    await fails(peer, "TaskNotFound", (await peer.full()).cancel(nobody));
  },

  async "error-subscribe-missing"(peer) {
    await fails(peer, "TaskNotFound", collect((await peer.full()).resubscribe(nobody)));
  },

  async "error-send-missing"(peer) {
    await fails(peer, "TaskNotFound", (await peer.full()).send(send("pong", { taskId: nobody.id })));
  },

  async "error-stream-missing"(peer) {
    await fails(peer, "TaskNotFound", collect((await peer.full()).stream(send("pong", { taskId: nobody.id }))));
  },

  async "error-foreign"(peer) {
    const client = await peer.full();
    const { id } = await waiting(client, { owner: "anna" });
    const bert = { owner: "bert" };
    await fails(peer, "TaskNotFound", client.get({ id }, bert));
    await fails(peer, "TaskNotFound", client.cancel({ id }, bert));
    await fails(peer, "TaskNotFound", collect(client.resubscribe({ id }, bert)));
    await client.cancel({ id }, { owner: "anna" });
  },

  async "error-cancel-finished"(peer) {
    const client = await peer.full();
    await fails(peer, "TaskNotCancelable", client.cancel(await finished(client)));
  },

  async "error-send-finished"(peer) {
    const client = await peer.full();
    const { id: taskId } = await finished(client);
    await fails(peer, "UnsupportedOperation", client.send(send("more", { taskId })));
  },

  async "error-content-type"(peer) {
    const picture = { kind: "file", file: { bytes: "AAAA", mimeType: "image/png" } };
    const request = send([{ kind: "text", text: "echo" }, picture]);
    await fails(peer, "ContentTypeNotSupported", (await peer.full()).send(request));
  },

  async "error-unauthenticated"(peer) {
    const client = await peer.full();
    const stranger = { owner: "stranger" };
    await fails(peer, "Refused", client.send(send("pong"), stranger));
    await fails(peer, "Refused", collect(client.stream(send("pong"), stranger)));
  },

  async "error-params"(peer) {
    await fails(peer, "InvalidParams", (await peer.full()).send(send([])));
  },

  async "error-push"(peer) {
    // With the published card the client would not even ask.
    const client = await peer.believing(({ capabilities }) => {
      capabilities.pushNotifications = true;
    });
    const { id } = await finished(client);
    const named = { id, pushNotificationConfigId: "x" };
    const kind = "PushNotificationNotSupported";
    const pushNotificationConfig = { id: "x", url: "http://127.0.0.1:9/" };
    await fails(peer, kind, client.setPush({ taskId: id, pushNotificationConfig }));
    await fails(peer, kind, client.getPush(named));
    await fails(peer, kind, client.listPush({ id }));
    await fails(peer, kind, client.deletePush(named));
  },

  async "error-push-missing"(peer) {
    const client = await peer.full();
    const { id } = await finished(client);
    await fails(peer, "TaskNotFound", client.getPush({ id, pushNotificationConfigId: "none" }));
  },

  async "error-extended-card"(peer) {
    const client = await peer.believing((card) => {
      card.supportsAuthenticatedExtendedCard = true;
    });
    await fails(peer, "AuthenticatedExtendedCardNotConfigured", client.card());
  },
};
