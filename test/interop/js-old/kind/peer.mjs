import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

/** Parameters of a send: a text or parts, and whatever else the message has. */
export function send(content, { configuration, ...message } = {}) {
  const parts = typeof content === "string" ? [text(content)] : content;
  return {
    message: { kind: "message", messageId: randomUUID(), role: "user", parts, ...message },
    ...(configuration === undefined ? {} : { configuration }),
  };
}

export function text(value) {
  return { kind: "text", text: value };
}

export async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Starts a task that waits for a message, and gives it back while it runs. */
export async function waiting(client, as) {
  const task = await client.send(send("wait", { configuration: { blocking: false } }), as);
  assert.equal(task.kind, "task");
  assert.ok(isOpen(task), `the task is ${task.status.state}`);
  return task;
}

export function isOpen({ status }) {
  return status.state === "submitted" || status.state === "working";
}

export function textOf({ parts }) {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

/** The text of every artifact event of a stream, in the order in which it came. */
export function streamed(events) {
  return events.map((event) => (event.kind === "artifact-update" ? textOf(event.artifact) : "")).join("");
}

/** The status updates of a stream: only the last one may be final, and it has to be. */
export function statesOf(events) {
  const updates = events.filter(({ kind }) => kind === "status-update");
  assert.deepEqual(
    updates.map(({ final }) => final),
    updates.map((_, index) => index === updates.length - 1),
  );
  assert.equal(events.at(-1), updates.at(-1), `the stream ends with ${events.at(-1)?.kind}`);
  return updates.map(({ status }) => status.state);
}

export async function fails({ errorKind }, kind, call) {
  await assert.rejects(call, (error) => {
    assert.equal(errorKind(error), kind, `${error.stack}\n${error.cause?.stack ?? ""}`);
    return true;
  });
}
