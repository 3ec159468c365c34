import { type Agent, artifact, completed, inputRequired, type Task } from "trivium";
import { expect, it } from "vitest";
import type { CallOptions } from "../../../src/protocol/context.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import type { SendMessageRequest } from "../../../src/protocol/model.js";
import { itemsOf } from "../../support/items.js";
import { requestOf, say, taskOf } from "../../support/say.js";
import { overEach, type ServedAgent } from "../../support/serve-agent.js";
import { wiresThat } from "../../support/wires.js";

// The sender of a large message has it already, so the answer to that send does not bring it back.

const large = "x".repeat(65 * 1024);
const agent: Agent = async function* ({ text }) {
  yield artifact("taken");
  yield text === "end" ? completed() : inputRequired("more?");
};

const idsIn = ({ history }: Task): readonly string[] => history.map(({ messageId }) => messageId);

const ways: Readonly<
  Record<string, (served: ServedAgent, request: SendMessageRequest, options?: CallOptions) => Promise<Task>>
> = {
  "a send": async ({ client }, request, options = {}) => taskOf(await client.sendMessage(request, options)),
  async "a stream"({ client }, request, options = {}) {
    const [first] = await itemsOf(client.sendStreamingMessage(request, options));
    if (first === undefined) throw new Error("the stream is empty");
    return taskOf(first.response);
  },
};

overEach(wiresThat("keep ids of messages", "tell history unasked", "begin streams with the task"), (start) => {
  it.each(Object.entries(ways))("%s leaves its own large message out of the answer, and no other", async (_, ask) => {
    await using served = await start({ agent });
    const answered = async (...[content, options]: Parameters<typeof say>) =>
      idsIn(await ask(served, say(content, options)));
    const first = await ask(served, say(large, { messageId: "first" }));
    expect(idsIn(first)).toEqual([]);
    const { id: taskId } = first;
    const second = await answered(large, { taskId, messageId: "second" });
    expect([second.includes("first"), second.includes("second")]).toEqual([true, false]);
    const whole = await served.client.getTask(requestOf("getTask", { id: taskId }), {});
    expect(idsIn(whole)).toContain("second");
    // A small message is repeated, and so is the large one of an earlier send.
    const small = await answered("more", { taskId, messageId: "small" });
    expect(small).toEqual(expect.arrayContaining(["first", "second"]));
    expect(await answered("more", { messageId: "fresh" })).toEqual(["fresh"]);
    const configuration = { historyLength: 100 };
    const asked = await answered(large, { messageId: "asked", configuration });
    expect(asked).toEqual(["asked"]);
  });

  it.each(Object.entries(ways))("%s that is repeated leaves its large message out as before", async (_, ask) => {
    await using served = await start({ agent });
    const options = { extensions: [idempotentSendExtension] };
    const request = say(large, { messageId: "once" });
    const askAgain = async () => idsIn(await ask(served, request, options));
    expect([await askAgain(), await askAgain()]).toEqual([[], []]);
  });
});
