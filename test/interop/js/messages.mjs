import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Role } from "@a2a-js/sdk";
import { ServiceParameters, withA2AExtensions } from "@a2a-js/sdk/client";
import { collect, send, state, textOf } from "./peer.mjs";

export const cases = {
  async card({ card, bindingName, full }) {
    const { name, version, capabilities, supportedInterfaces, skills, provider } = await card();
    assert.deepEqual([name, version, provider?.organization], ["Interop", "1.2.3", "Trivium"]);
    assert.deepEqual([capabilities?.streaming, capabilities?.pushNotifications], [true, true]);
    assert.deepEqual(skills[0]?.examples, ["work"]);
    assert.ok(
      supportedInterfaces.some((each) => each.protocolBinding === bindingName && each.protocolVersion === "1.0"),
    );
    const client = await full();
    assert.equal(client.transport.protocolName, bindingName);
  },

  async "extended-card"({ full }) {
    const card = await (await full()).getAgentCard();
    assert.deepEqual(
      card.skills.map(({ id }) => id),
      ["words", "inner"],
    );
  },

  async message({ full }) {
    const message = await (await full()).sendMessage(send("pong ü 漢 🙂"));
    assert.equal(textOf(message), "pong pong ü 漢 🙂");
    assert.equal(message.role, Role.ROLE_AGENT);
    assert.notEqual(message.contextId, "");
    assert.equal(message.taskId, "");
  },

  async echo({ full }) {
    const metadata = { a: [1, { b: null }], c: "d" };
    const request = send(
      [
        { text: "echo" },
        { data: { list: [1, 2.5, null, true, "x"], nested: { empty: {} } }, mediaType: "application/json" },
        {
          raw: Buffer.from([0, 127, 128, 255]).toString("base64"),
          filename: "f.bin",
          mediaType: "application/octet-stream",
        },
        { url: "https://files.example/a.txt", mediaType: "text/plain", metadata: { size: 3 } },
      ],
      { metadata },
    );
    request.message.metadata = metadata;
    const message = await (await full()).sendMessage(request);
    assert.deepEqual(message.parts.map(plain), request.message.parts.map(plain));
    assert.deepEqual(message.metadata, metadata);
  },

  async "stream-message"({ full }) {
    const events = await collect((await full()).sendMessageStream(send("pong")));
    assert.deepEqual(
      events.map(({ $case, value }) => [$case, textOf(value)]),
      [["message", "pong pong"]],
    );
  },

  async parallel({ full }) {
    const client = await full();
    const words = Array.from({ length: 50 }, (_, index) => `pong ${index}`);
    const answers = await Promise.all(words.map((word) => client.sendMessage(send(word))));
    assert.deepEqual(
      answers.map(textOf),
      words.map((word) => `pong ${word}`),
    );
  },

  async large({ full }) {
    const long = "0123456789abcdeé".repeat(65_536);
    const message = await (await full()).sendMessage(send([{ text: "echo" }, { text: long }]));
    assert.equal(textOf(message), `echo${long}`);
  },

  async context({ full }) {
    const client = await full();
    const contextId = randomUUID();
    const first = await client.sendMessage(send("work", { contextId }));
    const second = await client.sendMessage(send("work", { contextId, referenceTaskIds: [first.id] }));
    assert.deepEqual([first.contextId, second.contextId, state(second)], [contextId, contextId, "COMPLETED"]);
    assert.notEqual(first.id, second.id);
  },

  async extensions({ full }) {
    const serviceParameters = ServiceParameters.create(withA2AExtensions("urn:trivium:interop", "urn:nobody:knows"));
    const message = await (await full()).sendMessage(send("extensions"), { serviceParameters });
    assert.equal(textOf(message), "urn:trivium:interop");
  },
};

function plain({ content, filename, mediaType, metadata }) {
  const value = content.$case === "raw" ? Buffer.from(content.value).toString("base64") : content.value;
  return { kind: content.$case, value, filename, mediaType, metadata };
}
