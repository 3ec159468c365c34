import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { collect, send, text, textOf } from "./peer.mjs";

const raw = Buffer.from([0, 127, 128, 255]).toString("base64");

export const cases = {
  async card({ card, full }) {
    const { name, version, capabilities, skills, provider, ...rest } = await card();
    assert.deepEqual([name, version, provider?.organization], ["Interop", "1.2.3", "Trivium"]);
    assert.deepEqual([capabilities?.streaming, capabilities?.pushNotifications], [true, true]);
    assert.deepEqual(skills[0]?.examples, ["work"]);
    assert.deepEqual([rest.protocolVersion, rest.preferredTransport], ["0.3.0", "JSONRPC"]);
    assert.match(rest.url, /^http:\/\/127\.0\.0\.1:/);
    await full();
  },

  async "extended-card"({ full }) {
    const client = await full();
    const card = await client.card();
    assert.deepEqual(
      card.skills.map(({ id }) => id),
      ["words", "inner"],
    );
  },

  async message({ full }) {
    const message = await (await full()).send(send("pong ü 漢 🙂"));
    assert.deepEqual([message.kind, message.role, textOf(message)], ["message", "agent", "pong pong ü 漢 🙂"]);
    assert.ok(message.contextId);
    assert.equal(message.taskId, undefined);
  },

  async echo({ drops, full }) {
    const nothing = drops.null ? [] : [null];
    const metadata = { a: [1, { b: nothing }], c: "d" };
    const parts = [
      { ...text("echo"), ...(drops.partMetadata ? {} : { metadata: { size: 3 } }) },
      { kind: "data", data: { list: [1, 2.5, ...nothing, true, "x"], nested: { empty: {} } } },
      file({ bytes: raw, mimeType: "application/octet-stream" }, drops.fileName ? undefined : "f.bin"),
      file({ uri: "https://files.example/a.txt", mimeType: "text/plain" }, drops.fileName ? undefined : "a.txt"),
    ];
    const request = send(parts);
    request.message.metadata = metadata;
    const message = await (await full()).send(request);
    assert.deepEqual(message.parts, parts);
    assert.deepEqual(message.metadata, metadata);
  },

  async "stream-message"({ full }) {
    const events = await collect((await full()).stream(send("pong")));
    assert.deepEqual(
      events.map((event) => [event.kind, textOf(event)]),
      [["message", "pong pong"]],
    );
  },

  async parallel({ full }) {
    const client = await full();
    const words = Array.from({ length: 50 }, (_, index) => `pong ${index}`);
    const answers = await Promise.all(words.map((word) => client.send(send(word))));
    assert.deepEqual(
      answers.map(textOf),
      words.map((word) => `pong ${word}`),
    );
  },

  async large({ full }) {
    const long = "0123456789abcdeé".repeat(65_536);
    const message = await (await full()).send(send([text("echo"), text(long)]));
    assert.equal(textOf(message), `echo${long}`);
  },

  async context({ full }) {
    const client = await full();
    const contextId = randomUUID();
    const first = await client.send(send("work", { contextId }));
    const second = await client.send(send("work", { contextId, referenceTaskIds: [first.id] }));
    assert.deepEqual([first.contextId, second.contextId, second.status.state], [contextId, contextId, "completed"]);
    assert.notEqual(first.id, second.id);
  },

  async extensions({ full }) {
    const extensions = ["urn:trivium:interop", "urn:nobody:knows"];
    const message = await (await full()).send(send("extensions"), { extensions });
    assert.equal(textOf(message), "urn:trivium:interop");
  },
};

function file(content, name) {
  return { kind: "file", file: name === undefined ? content : { ...content, name } };
}
