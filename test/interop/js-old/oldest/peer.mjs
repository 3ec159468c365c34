import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { A2ACardResolver, A2AClient } from "a2a-js";

/** The agents as the SDK reaches them; it speaks JSON-RPC alone. */
export async function createPeer({ url, plain, guarded }) {
  const card = (at) => new A2ACardResolver(at).getAgentCard();
  const [full, bare, demanding] = await Promise.all([card(url), card(plain), card(guarded)]);
  return {
    card: () => card(url),
    full: (owner) => clientOf(full.url, owner === undefined ? {} : { Authorization: owner }),
    plain: () => clientOf(bare.url, {}),
    guarded: (headers) => clientOf(demanding.url, headers),
  };
}

/** A client of the SDK; `failure` is the last error that came to it, since the SDK keeps no more of it than the text. */
function clientOf(url, own) {
  const seen = { failure: undefined };
  const fetchSeen = async (at, init) => {
    const response = await fetch(at, { ...init, headers: { ...init.headers, ...own } });
    if (!response.ok || response.headers.get("content-type")?.startsWith("application/json")) {
      seen.failure = failureOf(response.status, await response.clone().text());
    }
    return response;
  };
  const client = new A2AClient(url, fetchSeen);
  return {
    send: (params) => client.sendTask(params),
    stream: (params) => results(client.sendTaskSubscribe(params)),
    resubscribe: (params) => results(client.resubscribeTask(params)),
    get: (params) => client.getTask(params),
    cancel: async (params) => (await client.cancelTask(params)).result,
    setPush: async (params) => (await client.setTaskPushNotificationConfig(params)).result,
    getPush: async (params) => (await client.getTaskPushNotificationConfig(params)).result,
    seen,
  };
}

function failureOf(status, body) {
  if (status === 401) return status;
  try {
    return JSON.parse(body).error?.code ?? status;
  } catch {
    return status;
  }
}

async function* results(answers) {
  for await (const { result, error } of answers) {
    if (error) throw Object.assign(new Error(error.message), { code: error.code });
    yield result;
  }
}

/** Parameters of a send: a text or parts, and whatever else the request has. The caller names the task. */
export function send(content, more = {}) {
  const parts = typeof content === "string" ? [text(content)] : content;
  return { id: randomUUID(), message: { role: "user", parts }, ...more };
}

export function text(value) {
  return { type: "text", text: value };
}

export async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Reads a stream in the background up to the event that says that the agent is at work; `rest` is what follows. */
export async function waiting(client) {
  const { id, ...request } = send("wait");
  const stream = client.stream({ id, ...request });
  for (;;) {
    const { done, value } = await stream.next();
    assert.ok(!done, "the stream ended before the agent was at work");
    if (value.status?.state === "working") break;
  }
  return { id, rest: collect(stream) };
}

export function textOf(holder) {
  return (holder?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}

export function streamed(events) {
  return events.map(({ artifact }) => textOf(artifact)).join("");
}

/** The states of a stream: only the last event may be final, and it has to be. */
export function statesOf(events) {
  const updates = events.filter(({ status }) => status !== undefined);
  assert.deepEqual(
    updates.map(({ final }) => final ?? false),
    updates.map((_, index) => index === updates.length - 1),
  );
  assert.equal(events.at(-1), updates.at(-1), "the stream ends with an artifact");
  return updates.map(({ status }) => status.state);
}

/** A call fails by a code, or by an HTTP status. */
export async function fails(code, client, call) {
  client.seen.failure = undefined;
  await assert.rejects(call(), (error) => {
    assert.equal(error.code ?? client.seen.failure ?? error.statusCode, code, error.stack);
    return true;
  });
}
