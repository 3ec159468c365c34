import { artifact, completed, inputRequired, memoryTaskStore, reply, working } from "trivium";
import { expect, it } from "vitest";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import { errorOf, historyOf, linesOf, messageOf, openStream, say, stateOf, taskOf, textIn } from "../../support/say.js";
import { overEach, startAgent } from "../../support/serve-agent.js";
import { expectWrong, wiresThat } from "../../support/wires.js";

// A caller that does not know whether its message arrived sends it again, and it takes effect once.

const once = { extensions: [idempotentSendExtension] };

overEach(wiresThat("keep ids of messages"), (start) => {
  it("a retried message gets the same reply, and the agent runs once", async () => {
    let runs = 0;
    await using served = await start({ agent: async () => reply(`answer ${++runs}`) });
    const request = say("x");
    const first = await served.client.sendMessage(request, once);
    expect(textIn(messageOf(first).parts)).toBe("answer 1");
    expect(await served.client.sendMessage(request, once)).toEqual(first);
    expect(await linesOf(served.client.sendStreamingMessage(request, once))).toEqual(['message "answer 1"']);
    expect(textIn(messageOf(await served.client.sendMessage(request, {})).parts)).toBe("answer 2");
  });

  it("a retried message attaches to its task, while it runs and after it ends", async () => {
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    await using served = await start({
      async *agent() {
        runs++;
        yield working();
        await gate.promise;
        yield artifact("a", { artifactId: "x" });
      },
    });
    const request = say("x");
    const broken = await openStream(served.client.sendStreamingMessage(request, once));
    await broken.iterator.return?.();
    const again = await openStream(served.client.sendStreamingMessage(request, once));
    const answer = served.client.sendMessage(request, once);
    gate.resolve();
    expect(await again.readRest()).toEqual(["status WORKING", 'artifact x "a"', "status COMPLETED"]);
    const task = taskOf(await answer);
    expect([stateOf(task), task.id]).toEqual(["COMPLETED", taskOf(broken.firstItem.response).id]);
    expect(taskOf(await served.client.sendMessage(request, once))).toEqual(task);
    expect((await linesOf(served.client.sendStreamingMessage(request, once)))[0]).toBe("task SUBMITTED");
    expect(runs).toBe(1);
  });

  it("a message to a task is taken once, however often it is sent", async () => {
    await using served = await start({
      async *agent({ text }) {
        yield text === "end" ? completed() : inputRequired("?");
      },
    });
    const { id: taskId } = taskOf(await served.client.sendMessage(say("go"), {}));
    const request = say("more", { taskId });
    for (let times = 0; times < 3; times++) {
      expect(stateOf(taskOf(await served.client.sendMessage(request, once)))).toBe("INPUT_REQUIRED");
    }
    const task = taskOf(await served.client.sendMessage(say("end", { taskId }), once));
    expect(historyOf(task).filter((line) => line.startsWith("user"))).toEqual(["user: go", "user: more", "user: end"]);
  });

  it("another message under a used id is refused, with the field named", async () => {
    await using served = await start({ agent: async () => reply("pong") });
    const messageId = "used";
    await served.client.sendMessage(say("x", { messageId }), once);
    for (const call of [
      served.client.sendMessage(say("y", { messageId }), once),
      served.client.sendStreamingMessage(say("y", { messageId }), once),
    ]) {
      expectWrong(served.wire, await errorOf(call), "message.messageId");
    }
  });
});

it("a message may be retried over any binding, and at another server of the store", async () => {
  const store = memoryTaskStore();
  let runs = 0;
  const agent = async () => reply(`answer ${++runs}`);
  await using here = await startAgent("JSONRPC", { agent, store });
  await using there = await startAgent("JSONRPC", { agent, store });
  const request = say("x", { metadata: { b: { d: 1, c: [true, "x"] }, a: null } });
  const answers = await Promise.all(
    [here, there].flatMap((served) =>
      wiresThat("keep ids of messages").map((wire) => served.clientOver(wire).sendMessage(request, once)),
    ),
  );
  for (const answer of answers) expect(textIn(messageOf(answer).parts)).toBe("answer 1");
  expect(runs).toBe(1);
});

it("the card lists the idempotent-send extension as optional, and the answer activates it", async () => {
  await using served = await startAgent("JSONRPC", { agent: async () => reply("pong") });
  const { capabilities } = served.server.card;
  expect(capabilities?.extensions).toMatchObject([{ uri: idempotentSendExtension, required: false }, {}, {}]);
  const response = await fetch(`${served.server.url}/http-json/message:send`, {
    method: "POST",
    headers: {
      "content-type": "application/a2a+json",
      "a2a-version": "1.0",
      "a2a-extensions": idempotentSendExtension,
    },
    body: JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] } }),
  });
  expect([response.status, response.headers.get("a2a-extensions")]).toEqual([200, idempotentSendExtension]);
});
