import assert from "node:assert/strict";
import { collect, fails, send, textOf } from "./peer.mjs";

// Every SDK of these versions sends the headers that its caller gives.

const bearer = (token) => ({ headers: { Authorization: `Bearer ${token}` } });
const key = (value) => ({ headers: { "X-Api-Key": value } });

async function works(peer, as) {
  const client = await peer.guarded();
  assert.equal(textOf(await client.send(send("pong"), as)), "pong pong");
  const events = await collect(client.stream(send("work"), as));
  const { id } = events.find(({ kind }) => kind === "task");
  assert.equal((await client.get({ id }, as)).id, id);
}

async function isRefused(peer, as) {
  const client = await peer.guarded();
  await fails(peer, "Refused", client.send(send("pong"), as));
  await fails(peer, "Refused", collect(client.stream(send("pong"), as)));
  await fails(peer, "Refused", client.get({ id: "none" }, as));
}

export const cases = {
  "credentials-token": (peer) => works(peer, bearer(peer.secrets.token)),
  "credentials-key": (peer) => works(peer, key(peer.secrets.key)),
  "error-credentials-none": (peer) => isRefused(peer),
  "error-credentials-expired": (peer) => isRefused(peer, bearer(peer.secrets.expired)),
  "error-credentials-key": (peer) => isRefused(peer, key("an-old-key")),
};
