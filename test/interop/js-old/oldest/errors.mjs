import { collect, fails, send, waiting } from "./peer.mjs";

const nobody = { id: "00000000-0000-7000-8000-000000000000" };
const taskNotFound = -32001;

export const cases = {
  async "error-get"({ full }) {
    const client = full();
    await fails(taskNotFound, client, () => client.get(nobody));
  },

  async "error-cancel-missing"({ full }) {
    const client = full();
    await fails(taskNotFound, client, () => client.cancel(nobody));
  },

  async "error-subscribe-missing"({ full }) {
    const client = full();
    await fails(taskNotFound, client, () => collect(client.resubscribe(nobody)));
  },

  async "error-foreign"({ full }) {
    const anna = full("anna");
    const bert = full("bert");
    const { id, rest } = await waiting(anna);
    await fails(taskNotFound, bert, () => bert.get({ id }));
    await fails(taskNotFound, bert, () => bert.cancel({ id }));
    await fails(taskNotFound, bert, () => collect(bert.resubscribe({ id })));
    await anna.cancel({ id });
    await rest;
  },

  async "error-cancel-finished"({ full }) {
    const client = full();
    const { id } = await client.send(send("work"));
    await fails(-32002, client, () => client.cancel({ id }));
  },

  async "error-send-finished"({ full }) {
    const client = full();
    const { id } = await client.send(send("work"));
    await fails(-32009, client, () => client.send(send("more", { id })));
  },

  async "error-content-type"({ full }) {
    const client = full();
    const picture = { type: "file", file: { bytes: "AAAA", mimeType: "image/png" } };
    await fails(-32005, client, () => client.send(send([{ type: "text", text: "echo" }, picture])));
  },

  async "error-params"({ full }) {
    const client = full();
    await fails(-32602, client, () => client.send(send([])));
  },

  async "error-unauthenticated"({ full }) {
    const stranger = full("stranger");
    await fails(401, stranger, () => stranger.send(send("pong")));
    await fails(401, stranger, () => collect(stranger.stream(send("pong"))));
  },

  async "error-push"({ plain }) {
    const client = plain();
    const { id } = await client.send(send("work"));
    const pushNotificationConfig = { url: "http://127.0.0.1:9/" };
    await fails(-32003, client, () => client.setPush({ id, pushNotificationConfig }));
    await fails(-32003, client, () => client.send(send("work", { pushNotification: pushNotificationConfig })));
  },
};
