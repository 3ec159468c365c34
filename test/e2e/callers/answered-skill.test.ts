import { artifact, gateway, inputRequired, type JsonValue, reply, serve } from "trivium";
import { apiKey } from "trivium/auth";
import { expect, it } from "vitest";
import type { CallOptions } from "../../../src/protocol/context.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import type { SendMessageRequest } from "../../../src/protocol/model.js";
import type { Operations } from "../../../src/protocol/operations.js";
import { errorOf, linesOf, requestOf, say, stateOf, taskOf, textIn } from "../../support/say.js";
import { bareTransport, overEach, type ServedOptions, startAgent } from "../../support/serve-agent.js";
import { errorOverWire, expectWrong, wires, wiresThat } from "../../support/wires.js";

// The skill of a task goes with it: an answer to its question needs what its first message needed, whichever skill the
// answer itself names.

const skills = ["book", "pilot"].map((id) => ({ id, name: id, description: id, tags: [id] }));
const card = { name: "Harbour", description: "Books berths", version: "1.0.0", skills };
const scopes: Readonly<Record<string, readonly string[]>> = { all: ["berths", "pilots"], pilots: ["pilots"], none: [] };

const options: ServedOptions = {
  card,
  auth: {
    schemes: {
      key: apiKey({ in: "header", name: "x-key", verify: (key) => ({ subject: "ann", scopes: scopes[key] }) }),
    },
    skills: { book: [{ key: ["berths"] }], pilot: [{ key: ["pilots"] }] },
  },
  async *agent({ text, task, ask }) {
    if (task !== undefined) yield artifact(`booked: ${text}`);
    else if (text === "stay") yield artifact(`booked: ${textIn((await ask(inputRequired("which?"))).parts)}`);
    else yield inputRequired("which?");
  },
};

function toSkill(request: SendMessageRequest, skillId: JsonValue): SendMessageRequest {
  return { ...request, message: { ...request.message, metadata: { skillId } } as never };
}

const as = (key: keyof typeof scopes): CallOptions => ({ headers: { "x-key": key } });
const refusal = { code: "permissionDenied" } as const;

/** Asks for a berth. Returns the id of the task that waits for an answer. */
async function startTask(client: Operations<CallOptions>, text: string): Promise<string> {
  const task = taskOf(await client.sendMessage(toSkill(say(text), "book"), as("all")));
  expect(stateOf(task)).toBe("INPUT_REQUIRED");
  return task.id;
}

overEach(wires, (start, wire) => {
  it.each(["go", "stay"])(
    "an answer to a task of a protected skill needs the scope of the skill (%s)",
    async (text) => {
      await using served = await start(options);
      const { client } = served;
      const taskId = await startTask(client, text);
      const answers = [
        say("four", { taskId }),
        toSkill(say("four", { taskId }), "pilot"),
        toSkill(say("x", { taskId }), "other"),
      ];
      for (const answer of answers) {
        for (const key of ["none", "pilots"]) {
          expect(await errorOf(client.sendMessage(answer, as(key)))).toMatchObject(errorOverWire(wire, refusal));
          expect(await errorOf(client.sendStreamingMessage(answer, as(key)))).toMatchObject(
            errorOverWire(wire, refusal),
          );
        }
      }
      const done = taskOf(await client.sendMessage(say("four", { taskId }), as("all")));
      expect([stateOf(done), done.artifacts.length]).toEqual(["COMPLETED", 1]);
    },
  );

  it("a stream that answers a task of a protected skill is taken from a caller who has the scope", async () => {
    await using served = await start(options);
    const taskId = await startTask(served.client, "go");
    const lines = await linesOf(served.client.sendStreamingMessage(say("four", { taskId }), as("all")));
    expect(lines.join()).toContain("booked: four");
  });

  it("a skill that is no text is refused", async () => {
    await using served = await start(options);
    for (const skill of [7, ["book"], { id: "book" }, true, null]) {
      const send = toSkill(say("go"), skill);
      expectWrong(wire, await errorOf(served.client.sendMessage(send, as("all"))), "message.metadata.skillId");
    }
  });
});

overEach(wiresThat("activate extensions"), (start, wire) => {
  it("an idempotent answer to a protected skill needs the scope too, and can be repeated with it", async () => {
    await using served = await start(options);
    const taskId = await startTask(served.client, "go");
    const answer = say("four", { taskId });
    const once = (key: string) => ({ ...as(key), extensions: [idempotentSendExtension] });
    const refused = await errorOf(served.client.sendMessage(answer, once("none")));
    expect(refused).toMatchObject(errorOverWire(wire, refusal));
    expect(stateOf(taskOf(await served.client.sendMessage(answer, once("all"))))).toBe("COMPLETED");
  });
});

it("an answer to a task for which no message named a skill needs no scope", async () => {
  await using served = await startAgent("JSONRPC", options);
  const task = taskOf(await served.client.sendMessage(say("go"), as("none")));
  const done = await served.client.sendMessage(say("four", { taskId: task.id }), as("none"));
  expect(stateOf(taskOf(done))).toBe("COMPLETED");
});

it("reading and canceling a task of a protected skill need what their operations require", async () => {
  await using served = await startAgent("JSONRPC", options);
  const id = await startTask(served.client, "go");
  expect(stateOf(await served.client.getTask(requestOf("getTask", { id }), as("none")))).toBe("INPUT_REQUIRED");
  expect(stateOf(await served.client.cancelTask(requestOf("cancelTask", { id }), as("none")))).toBe("CANCELED");
});

it("limits of skills refuse a skill that is no text", async () => {
  const rate = { skills: { book: { owner: { requests: "1/minute" } } } } as const;
  await using served = await startAgent("JSONRPC", {
    card,
    authenticate: () => ({ owner: "o" }),
    rate,
    agent: async () => reply("x"),
  });
  expectWrong(
    "JSONRPC",
    await errorOf(served.client.sendMessage(toSkill(say("go"), 7), {})),
    "message.metadata.skillId",
  );
  expect((await served.client.sendMessage(toSkill(say("go"), "book"), {})).payload.case).toBe("message");
});

it("messages of an agent without protected skills may have any metadata", async () => {
  await using served = await startAgent("JSONRPC", {
    agent: async ({ message }) => reply(JSON.stringify(message.metadata)),
  });
  expect((await served.client.sendMessage(toSkill(say("go"), 7), {})).payload.case).toBe("message");
});

it.each([
  ["1.0", wiresThat("list tasks")],
  ["0.3", ["JSONRPC 0.3"]],
  ["0.1", ["JSONRPC 0.1"]],
] as const)("a gateway holds answers to the skill of the task that its agent has (%s)", async (_, chosen) => {
  const { agent, auth } = options;
  await using behind = await serve({ card, agent, port: 0, logger: false, drainMs: 0 });
  await using front = await gateway({
    ...{ upstream: behind.url, port: 0, logger: false, drainMs: 0, auth },
    bindings: ["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"],
  });
  for (const wire of chosen) {
    const client = await bareTransport(wire, front);
    const taskId = await startTask(client, "go");
    const answer = say("four", { taskId });
    expect(await errorOf(client.sendMessage(answer, as("none")))).toMatchObject(errorOverWire(wire, refusal));
    expect(await errorOf(client.sendStreamingMessage(answer, as("pilots")))).toMatchObject(
      errorOverWire(wire, refusal),
    );
    expect(stateOf(taskOf(await client.sendMessage(answer, as("all"))))).toBe("COMPLETED");
    await client.close?.();
  }
});
