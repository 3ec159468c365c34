import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { SendMessageRequest, TaskState } from "@a2a-js/sdk";
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";

const transports = {
  JSONRPC: { Factory: JsonRpcTransportFactory, name: "JSONRPC", unauthenticated: { envelopeCode: -32000 } },
  "HTTP+JSON": { Factory: RestTransportFactory, name: "HTTP+JSON", unauthenticated: { statusCode: 401 } },
  GRPC: { Factory: GrpcTransportFactory, name: "GRPC", unauthenticated: { status: 16 } },
};

/** The agents as the SDK reaches them over one binding. */
export function createPeer({ url, plain, binding, guarded, ...secrets }) {
  const { Factory, name, unauthenticated } = transports[binding];
  const factory = new ClientFactory({ transports: [new Factory()] });
  const connect = (at) => factory.createFromUrl(at);
  return {
    url,
    /** The agent that wants credentials, and those that there are. */
    guarded,
    secrets,
    bindingName: name,
    /** How the SDK says that a caller was refused: it has no error of its own for that. */
    unauthenticated,
    full: once(() => connect(url)),
    plain: once(() => connect(plain)),
    /** The card as the SDK reads it. */
    card: () => new DefaultAgentCardResolver().resolve(url),
    /** A client that believes a card other than the published one. */
    async believing(change) {
      const card = await new DefaultAgentCardResolver().resolve(plain);
      change(card);
      return factory.createFromAgentCard(card);
    },
  };
}

function once(make) {
  let made;
  return () => {
    made ??= make();
    return made;
  };
}

/** Parameters of a send: a text or parts, and whatever else the message or the configuration has. */
export function send(content, { configuration, metadata, ...message } = {}) {
  const parts = typeof content === "string" ? [{ text: content }] : content;
  return SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: "ROLE_USER", parts, ...message },
    configuration,
    metadata,
  });
}

export function as(owner) {
  return { serviceParameters: { Authorization: owner } };
}

export async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event.payload);
  return events;
}

/** Starts a task that waits for a message, and gives it back while it runs. */
export async function waiting(client, options) {
  const task = await client.sendMessage(send("wait", { configuration: { returnImmediately: true } }), options);
  assert.ok(isOpen(task), `the task is ${state(task)}`);
  return task;
}

export function isOpen(task) {
  return [TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING].includes(task.status?.state);
}

export function state(task) {
  return TaskState[task.status?.state ?? 0].replace("TASK_STATE_", "");
}

export function textOf({ parts }) {
  return parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
}

export async function fails(name, call) {
  await assert.rejects(call, (error) => {
    const seen = error.cause?.name?.endsWith("Error") && error.name === "Error" ? error.cause : error;
    assert.equal(seen.name, name, seen.stack);
    return true;
  });
}
