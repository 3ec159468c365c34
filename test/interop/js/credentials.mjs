import assert from "node:assert/strict";
import {
  ClientFactory,
  createAuthenticatingFetchWithRetry,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { collect, send, textOf } from "./peer.mjs";

// Over HTTP the SDK has a `fetch` with an authentication handler; over gRPC its interceptors set metadata.

const overHttp = { JSONRPC: JsonRpcTransportFactory, "HTTP+JSON": RestTransportFactory };

/** A client that sends a header with each call; with `when`, only to an agent that asks for it. */
function withHeader({ guarded, bindingName }, headers, when) {
  const Http = overHttp[bindingName];
  if (Http === undefined) {
    const before = async ({ options }) => {
      options.serviceParameters = { ...options.serviceParameters, ...headers };
    };
    const clientConfig = { interceptors: [{ before, after: async () => {} }] };
    return new ClientFactory({ transports: [new GrpcTransportFactory()], clientConfig }).createFromUrl(guarded);
  }
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => (when === undefined ? headers : {}),
    async shouldRetryWithHeaders(_, { status, headers: answered }) {
      const challenge = answered.get("www-authenticate");
      return status === 401 && when?.test(challenge) === true ? headers : undefined;
    },
  });
  return new ClientFactory({ transports: [new Http({ fetchImpl })] }).createFromUrl(guarded);
}

async function works(client) {
  assert.equal(textOf(await client.sendMessage(send("pong"))), "pong pong");
  const events = await collect(client.sendMessageStream(send("work")));
  const task = events.find(({ $case }) => $case === "task").value;
  assert.equal((await client.getTask({ tenant: "", id: task.id })).id, task.id);
}

async function isRefused(client, unauthenticated) {
  await assert.rejects(client.sendMessage(send("pong")), unauthenticated);
  await assert.rejects(collect(client.sendMessageStream(send("pong"))), unauthenticated);
  await assert.rejects(client.getTask({ tenant: "", id: "none" }), unauthenticated);
}

const bearer = (token) => ({ Authorization: `Bearer ${token}` });

export const cases = {
  async "credentials-token"(peer) {
    await works(await withHeader(peer, bearer(peer.secrets.token), /^Bearer/));
  },

  async "credentials-key"(peer) {
    await works(await withHeader(peer, { "X-Api-Key": peer.secrets.key }));
  },

  async "error-credentials-none"(peer) {
    await isRefused(await withHeader(peer, {}), peer.unauthenticated);
  },

  async "error-credentials-expired"(peer) {
    await isRefused(await withHeader(peer, bearer(peer.secrets.expired), /^Bearer/), peer.unauthenticated);
  },
};
