import assert from "node:assert/strict";
import { collect, fails, send, textOf } from "./peer.mjs";

const bearer = (token) => ({ Authorization: `Bearer ${token}` });
const key = (value) => ({ "X-Api-Key": value });

async function works(client) {
  const { id, status } = await client.send(send("pong"));
  assert.equal(textOf(status.message), "pong pong");
  assert.notEqual((await collect(client.stream(send("work")))).length, 0);
  assert.equal((await client.get({ id })).id, id);
}

async function isRefused(client) {
  await fails(401, client, () => client.send(send("pong")));
  await fails(401, client, () => collect(client.stream(send("pong"))));
  await fails(401, client, () => client.get({ id: "none" }));
}

export const cases = {
  "credentials-token": ({ guarded, secrets }) => works(guarded(bearer(secrets.token))),
  "credentials-key": ({ guarded, secrets }) => works(guarded(key(secrets.key))),
  "error-credentials-none": ({ guarded }) => isRefused(guarded({})),
  "error-credentials-expired": ({ guarded, secrets }) => isRefused(guarded(bearer(secrets.expired))),
  "error-credentials-key": ({ guarded }) => isRefused(guarded(key("an-old-key"))),
};
