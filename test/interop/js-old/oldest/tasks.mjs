import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { receiver } from "../receiver.mjs";
import { collect, send, statesOf, streamed, text, textOf, waiting } from "./peer.mjs";

const raw = Buffer.from([0, 127, 128, 255]).toString("base64");
const isEnd = ({ status }) => status?.state === "completed";

export const cases = {
  async card({ card }) {
    const { name, version, url, capabilities, skills, provider } = await card();
    assert.deepEqual([name, version, provider?.organization], ["Interop", "1.2.3", "Trivium"]);
    assert.match(url, /^http:\/\/127\.0\.0\.1:/);
    assert.deepEqual([capabilities.streaming, capabilities.pushNotifications], [true, true]);
    assert.deepEqual(skills[0]?.examples, ["work"]);
  },

  async message({ full }) {
    const sessionId = randomUUID();
    const request = send("pong ü 漢 🙂", { sessionId });
    const task = await full().send(request);
    assert.deepEqual([task.id, task.sessionId, task.status.state], [request.id, sessionId, "completed"]);
    const { role } = task.status.message;
    assert.deepEqual([role, textOf(task.status.message)], ["agent", "pong pong ü 漢 🙂"]);
  },

  async echo({ full }) {
    const metadata = { a: [1, { b: null }], c: "d" };
    const parts = [
      { ...text("echo"), metadata: { size: 3 } },
      { type: "data", data: { list: [1, 2.5, null, true, "x"], nested: { empty: {} } } },
      { type: "file", file: { name: "f.bin", mimeType: "application/octet-stream", bytes: raw } },
      { type: "file", file: { name: "a.txt", mimeType: "text/plain", uri: "https://files.example/a.txt" } },
    ];
    const request = send(parts);
    request.message.metadata = metadata;
    const { message } = (await full().send(request)).status;
    assert.deepEqual(message.parts, parts);
    assert.deepEqual(message.metadata, metadata);
  },

  async large({ full }) {
    const long = "0123456789abcdeé".repeat(65_536);
    const task = await full().send(send([text("echo"), text(long)]));
    assert.equal(textOf(task.status.message), `echo${long}`);
  },

  async parallel({ full }) {
    const client = full();
    const words = Array.from({ length: 50 }, (_, index) => `pong ${index}`);
    const answers = await Promise.all(words.map((word) => client.send(send(word))));
    assert.deepEqual(
      answers.map(({ status }) => textOf(status.message)),
      words.map((word) => `pong ${word}`),
    );
  },

  async context({ full }) {
    const client = full();
    const sessionId = randomUUID();
    const first = await client.send(send("work", { sessionId }));
    const second = await client.send(send("work", { sessionId }));
    assert.deepEqual([first.sessionId, second.sessionId], [sessionId, sessionId]);
    assert.notEqual(first.id, second.id);
  },

  async task({ full }) {
    const request = send("work");
    const task = await full().send(request);
    assert.deepEqual([task.id, task.status.state, textOf(task.status.message)], [request.id, "completed", "done"]);
    assert.ok(Date.parse(task.status.timestamp) > 0);
    assert.deepEqual(
      task.artifacts.map((each) => [each.index, each.name, textOf(each)]),
      [
        [0, "Report", "one two"],
        [1, undefined, ""],
      ],
    );
    const [numbers, bytes] = task.artifacts[1].parts;
    assert.deepEqual(numbers.data, { count: 3, ratio: 0.5, nested: { list: [1, null, "x"] } });
    assert.deepEqual([...Buffer.from(bytes.file.bytes, "base64")], [0, 1, 254, 255]);
  },

  async "stream-message"({ full }) {
    const events = await collect(full().stream(send("pong")));
    assert.equal(statesOf(events).at(-1), "completed");
    assert.equal(textOf(events.at(-1).status.message), "pong pong");
  },

  async "stream-task"({ full }) {
    const request = send("work");
    const events = await collect(full().stream(request));
    assert.ok(events.every(({ id }) => id === request.id));
    assert.deepEqual(statesOf(events), ["submitted", "working", "completed"]);
    const artifacts = events.flatMap(({ artifact }) => artifact ?? []);
    assert.deepEqual(
      artifacts.map(({ index, append = false, lastChunk = false }) => [index, append, lastChunk]),
      [
        [0, false, false],
        [0, true, true],
        [1, false, false],
      ],
    );
  },

  async "stream-chunks"({ full }) {
    const events = await collect(full().stream(send("count")));
    assert.equal(streamed(events), Array.from({ length: 500 }, (_, index) => `${index},`).join(""));
    assert.equal(statesOf(events).at(-1), "completed");
  },

  async "stream-silence"({ full }) {
    const events = await collect(full().stream(send("hush")));
    assert.deepEqual([streamed(events), statesOf(events).at(-1)], ["at last", "completed"]);
  },

  async get({ full }) {
    const client = full();
    const { id } = await client.send(send("work"));
    const whole = await client.get({ id, historyLength: 10 });
    assert.deepEqual([whole.id, whole.status.state, whole.artifacts.length], [id, "completed", 2]);
    assert.ok(whole.history.length > 1);
    assert.equal(textOf(whole.history[0]), "work");
    assert.equal((await client.get({ id, historyLength: 1 })).history.length, 1);
    // Whoever does not ask for the history gets none.
    assert.deepEqual((await client.get({ id })).history ?? [], []);
  },

  async cancel({ full }) {
    const client = full();
    const { id, rest } = await waiting(client);
    assert.deepEqual([(await client.cancel({ id })).id, (await client.get({ id })).status.state], [id, "canceled"]);
    assert.deepEqual(statesOf(await rest), ["canceled"]);
  },

  async subscribe({ full }) {
    const client = full();
    const { id, rest } = await waiting(client);
    const again = client.resubscribe({ id });
    const first = await again.next();
    assert.equal(first.value.status.state, "working");
    await client.send(send("go on", { id }));
    const events = await collect(again);
    assert.deepEqual([streamed(events), statesOf(events).at(-1)], ["heard go on", "completed"]);
    assert.equal(streamed(await rest), "heard go on");
  },

  async leave({ full }) {
    const client = full();
    const request = send("wait");
    for await (const { status } of client.stream(request)) if (status?.state === "working") break;
    assert.equal((await client.get({ id: request.id })).status.state, "working");
    assert.equal((await client.send(send("go", { id: request.id }))).status.state, "completed");
  },

  async "input-required"({ full }) {
    const client = full();
    const question = await client.send(send("ask"));
    assert.deepEqual([question.status.state, textOf(question.status.message)], ["input-required", "which one?"]);
    const { id, sessionId } = question;
    const answer = await client.send(send("the red one", { id, sessionId }));
    assert.deepEqual([answer.id, answer.sessionId, answer.status.state], [id, sessionId, "completed"]);
    assert.equal(textOf(answer.artifacts[0]), "you said the red one");
  },

  async "input-required-stream"({ full }) {
    const client = full();
    const request = send("ask");
    assert.equal(statesOf(await collect(client.stream(request))).at(-1), "input-required");
    const rest = await collect(client.stream(send("this one", { id: request.id })));
    assert.deepEqual([streamed(rest), statesOf(rest).at(-1)], ["you said this one", "completed"]);
  },

  // 0.1 has no state of its own for this and the next.
  async "auth-required"({ full }) {
    const { status } = await full().send(send("login"));
    assert.deepEqual([status.state, textOf(status.message)], ["input-required", "log in first"]);
  },

  async rejected({ full }) {
    const { status } = await full().send(send("refuse"));
    assert.deepEqual([status.state, textOf(status.message)], ["failed", "not that"]);
  },

  async failed({ full }) {
    const task = await full().send(send("crash"));
    assert.equal(task.status.state, "failed");
    assert.doesNotMatch(JSON.stringify(task), /secret/);
  },

  async "push-config"({ full }) {
    const client = full();
    const { id, rest } = await waiting(client);
    const url = "http://127.0.0.1:9/hook";
    await client.setPush({ id, pushNotificationConfig: { url, token: "t0ken" } });
    assert.equal((await client.getPush({ id })).pushNotificationConfig.url, url);
    await client.cancel({ id });
    await rest;
  },

  async "push-delivery"({ full }) {
    const client = full();
    await using hook = await receiver(isEnd);
    const { id, rest } = await waiting(client);
    const authentication = { schemes: ["Bearer"], credentials: "cr3d" };
    await client.setPush({ id, pushNotificationConfig: { url: hook.url, token: "t0ken", authentication } });
    await client.send(send("go", { id }));
    assert.equal(textOfAny((await hook.ended).artifacts[0]), "heard go");
    assert.ok(hook.calls.every(({ body }) => body.id === id));
    assert.ok(hook.calls.every(({ headers }) => headers["x-a2a-notification-token"] === "t0ken"));
    assert.ok(hook.calls.every(({ headers }) => headers.authorization === "Bearer cr3d"));
    await rest;
  },

  async "push-inline"({ full }) {
    await using hook = await receiver(isEnd);
    const request = send("work", { pushNotification: { url: hook.url, token: "inline" } });
    await full().send(request);
    assert.equal((await hook.ended).id, request.id);
    assert.ok(hook.calls.every(({ headers }) => headers["x-a2a-notification-token"] === "inline"));
  },
};

// The SDK's method for push is one of a later version, and so is the body that follows from it.
function textOfAny({ parts }) {
  return parts.map(({ text: value = "" }) => value).join("");
}
