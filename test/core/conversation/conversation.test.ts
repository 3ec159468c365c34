import { describe, expect, it } from "vitest";
import type { Agent, Turn } from "../../../src/core/agent.js";
import type { ConversationEntry } from "../../../src/core/conversation-view.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { artifact, completed, inputRequired, reply, working } from "../../../src/protocol/events.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import { data, file, text } from "../../../src/protocol/parts.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { startHandler } from "../../support/handler.js";
import { messageOf, type SayOptions, taskOf } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const here: SayOptions = { contextId: "here" };

/** Each entry in one line. */
const linesOf = (entries: readonly ConversationEntry[]): string[] =>
  entries.map(({ role, text: content, missing }) => `${role}: ${missing ?? content}`);

/** An agent that shows the conversation of its context to the test, and answers as the message says. */
function recordingAgent(answer: Agent): {
  readonly agent: Agent;
  readonly conversations: string[][];
  readonly turns: Turn[];
} {
  const conversations: string[][] = [];
  const turns: Turn[] = [];
  const agent: Agent = async function* (turn) {
    turns.push(turn);
    conversations.push(linesOf(await turn.conversation()));
    const result = answer(turn);
    if (Symbol.asyncIterator in Object(result)) yield* result as AsyncGenerator<never>;
    else {
      const last = await (result as Promise<undefined>);
      if (last !== undefined) yield last;
    }
  };
  return { agent, conversations, turns };
}

describe("the conversation of a context", () => {
  it("a conversation has what all tasks said, direct replies too, but not the message being answered", async () => {
    const { agent, conversations } = recordingAgent(async function* ({ text: input, ask }) {
      if (input === "hello") return yield reply("good morning");
      if (input === "a berth") {
        const ship = await ask(inputRequired("for which ship?"));
        yield working("looking");
        yield artifact(`berth 4 for ${ship.parts.length} ship`);
        return yield completed("there you are");
      }
      yield reply("bye");
    });
    await using served = startHandler({ agent });
    messageOf(await served.send("hello", here));
    const { id: taskId } = taskOf(await served.send("a berth", here));
    messageOf(await served.send("hello", here));
    await served.send("the Alba", { taskId, ...here });
    await served.send("thanks", here);
    await served.send("elsewhere", { contextId: "there" });
    expect(conversations).toEqual([
      [],
      ["user: hello", "agent: good morning"],
      ["user: hello", "agent: good morning", "user: a berth", "agent: for which ship?"],
      [
        ...["user: hello", "agent: good morning", "user: a berth", "agent: for which ship?"],
        ...["user: hello", "agent: good morning"],
        ...["user: the Alba", "agent: berth 4 for 1 ship", "agent: there you are"],
      ],
      [],
    ]);
  });

  it("a conversation has one entry for an artifact in chunks, and another when a later turn changes it", async () => {
    const { agent, conversations } = recordingAgent(async function* ({ text: input }) {
      if (input === "read") return yield reply("done");
      for (const word of ["one ", "two ", "three"]) {
        yield artifact(word, { artifactId: "a", append: word !== "one " });
      }
      yield artifact("other", { artifactId: "b", lastChunk: true });
      yield input === "go" ? inputRequired("more?") : completed();
    });
    await using served = startHandler({ agent });
    const { id: taskId } = taskOf(await served.send("go", here));
    await served.send("more", { taskId });
    await served.send("read", here);
    expect(conversations.at(-1)).toEqual([
      ...["user: go", "agent: one two three", "agent: other", "agent: more?"],
      ...["user: more", "agent: one two three", "agent: other"],
    ]);
  });

  it("a conversation has an artifact that is complete before the message that the turn takes then", async () => {
    const { agent, conversations } = recordingAgent(async function* ({ text: input, receive }) {
      if (input === "read") return yield reply("done");
      yield artifact("first", { lastChunk: true });
      yield artifact("begun ", { artifactId: "b" });
      await receive();
      yield artifact("ended", { artifactId: "b", append: true });
    });
    await using served = startHandler({ agent });
    const { id: taskId } = taskOf(await served.send("go", { ...here, configuration: { returnImmediately: true } }));
    await served.send("more", { taskId });
    await served.send("read", here);
    expect(conversations.at(-1)).toEqual(["user: go", "agent: first", "user: more", "agent: begun ended"]);
  });

  it("a conversation has views of messages and artifacts, with the store's time and the task", async () => {
    const { agent, turns } = recordingAgent(async function* ({ text: input }) {
      if (input === "read") return yield reply("done");
      yield artifact([data({ draft: 4 }), file(new Uint8Array([1]), { filename: "chart.png" })]);
      yield completed("done");
    });
    const clock = createVirtualClock();
    await using served = startHandler({ agent, clock });
    const { id } = taskOf(await served.send([text("see "), text("this"), data(7)], here));
    await served.send("read", here);
    const [question, result, done] = (await turns.at(-1)?.conversation()) ?? [];
    expect([question?.text, question?.data(), question?.taskId, question?.at]).toEqual([
      "see this",
      7,
      id,
      new Date(clock.now()),
    ]);
    expect([question?.message?.contextId, question?.artifact]).toEqual(["here", undefined]);
    expect([result?.data(), result?.artifact?.artifactId, result?.message]).toEqual([{ draft: 4 }, "1.1", undefined]);
    expect(result?.files.map(({ name, bytes }) => [name, bytes()])).toEqual([["chart.png", new Uint8Array([1])]]);
    expect(JSON.parse(JSON.stringify(done))).toEqual({
      role: "agent",
      text: "done",
      at: done?.at.toJSON(),
      taskId: id,
    });
  });

  it("a conversation is read backwards by entries or by their cursors", async () => {
    const { agent, turns } = recordingAgent(async ({ text: input }) => reply(`${input}!`));
    await using served = startHandler({ agent });
    for (const input of ["a", "b", "c", "d"]) await served.send(input, here);
    const turn = turns.at(-1);
    const last = (await turn?.conversation({ last: 3 })) ?? [];
    expect(linesOf(last)).toEqual(["user: c", "agent: c!", "agent: d!"]);
    expect(linesOf((await turn?.conversation({ last: 2, before: last[0] })) ?? [])).toEqual(["user: b", "agent: b!"]);
    expect(linesOf((await turn?.conversation({ before: last[0]?.cursor })) ?? [])).toHaveLength(4);
    expect(await turn?.conversation({ before: "1" })).toEqual([]);
  });

  it.each([
    [{ last: 0 }, "`last` of turn.conversation() is a whole number from 1 to 1000, not 0"],
    [{ last: "2" as never }, '`last` of turn.conversation() is a whole number from 1 to 1000, not "2"'],
    [{ lst: 2 } as object, "turn.conversation(): lst cannot be given: did you mean last?"],
    [{ last: 1.5 }, "`last` of turn.conversation() is a whole number from 1 to 1000, not 1.5"],
    [{ before: "soon" }, "`before` of turn.conversation() must be an entry or the `cursor` of one"],
  ])("a conversation refuses a page that makes no sense: %o", async (page, text) => {
    const { agent, turns } = recordingAgent(async () => reply("ok"));
    await using served = startHandler({ agent });
    await served.send("go", here);
    await expect(turns[0]?.conversation(page)).rejects.toThrow(new TypeError(text));
  });

  it("each owner has a conversation of its own in a context", async () => {
    const { agent, conversations } = recordingAgent(async () => reply("ok"));
    await using served = startHandler({ agent });
    await served.send("go", here);
    await served.send("go", here, { principal: { owner: "bob" } });
    await served.send("go", here, { principal: { owner: "alice", tenant: "elsewhere" } });
    expect(conversations).toEqual([[], [], []]);
  });

  it("a conversation has a message once that was sent again under idempotent-send, whatever answered it", async () => {
    const { agent, conversations } = recordingAgent(async ({ text: input }) =>
      input === "task" ? completed("ok") : reply("ok"),
    );
    await using served = startHandler({ agent });
    const once = { extensions: [idempotentSendExtension] };
    for (const input of ["reply", "task", "reply", "task"])
      await served.send(input, { ...here, messageId: input }, once);
    await served.send("read", here);
    expect(conversations).toHaveLength(3);
    expect(conversations.at(-1)).toEqual(["user: reply", "agent: ok", "user: task", "agent: ok"]);
  });

  it("a conversation has nothing of a message that was answered with an error", async () => {
    const { agent, conversations } = recordingAgent(async ({ text: input }) => {
      if (input === "bad") throw new Error("broken");
      return reply("ok");
    });
    await using served = startHandler({ agent });
    await served.send("bad", here);
    await served.send("read", here);
    expect(conversations.at(-1)).toEqual(["user: bad", expect.stringMatching(/^agent: the agent failed \(reference/)]);
  });
});

describe("a large entry of a conversation", () => {
  const large = "x".repeat(70_000);

  /** Messages and artifacts of 70,000 characters, in a task and without one. */
  async function converse(store: TaskStore) {
    const { agent, conversations, turns } = recordingAgent(async function* ({ text: message }) {
      if (message === "read" || message.endsWith("y")) return yield reply("ok");
      yield artifact(`${large} result`);
      yield completed(`${large} done`);
    });
    const served = startHandler({ agent, store });
    await served.send(`${large} asked`, here);
    await served.send(`${large} y`, here);
    await served.send("read", here);
    return { served, turns, latest: conversations.at(-1) ?? [] };
  }

  it("a large entry of a conversation is read from its task, and missing where there was none", async () => {
    const { served, latest, turns } = await converse(memoryTaskStore());
    await using _ = served;
    expect(latest.map((line) => line.replace(large, "…"))).toEqual([
      ...["user: … asked", "agent: … result", "agent: … done"],
      ...["user: large", "agent: ok"],
    ]);
    const [question] = (await turns.at(-1)?.conversation()) ?? [];
    expect(question?.message?.parts).toHaveLength(1);
  });

  it("a large entry of a conversation is missing once its task was dropped", async () => {
    const store = memoryTaskStore({ maxBytes: 600_000, conversationsMaxBytes: 400_000 });
    const { served, turns } = await converse(store);
    await using _ = served;
    for (let count = 0; count < 4; count++) await served.send(`${large} more`, { contextId: "there" });
    const entries = (await turns.at(2)?.conversation()) ?? [];
    const lines = ["user: dropped", "agent: dropped", "agent: dropped"];
    expect(linesOf(entries)).toEqual([...lines, "user: large", "agent: ok", "agent: ok"]);
  });
});

describe("conversations that are switched off or bounded", () => {
  it("conversations that are switched off are refused with the option's name, and leave nothing", async () => {
    const turns: Turn[] = [];
    const store = memoryTaskStore();
    await using served = startHandler({
      store,
      conversations: false,
      agent: async (turn) => {
        turns.push(turn);
        return turn.text === "task" ? completed("ok") : reply("ok");
      },
    });
    await served.send("task", here);
    await served.send("reply", here);
    await settle();
    const off = "which are off: remove `conversations: false` from the options of the agent";
    await expect(turns[0]?.conversation()).rejects.toThrow(off);
    expect(() => turns[0]?.context).toThrow(off);
    const alice = { agent: "", tenant: "", owner: "alice" };
    expect(await store.readConversation(alice, "here", { limit: 10, maxBytes: 1_000 })).toEqual([]);
  });

  it("a bounded conversation keeps so many entries of a context, and for so long", async () => {
    const { agent, conversations } = recordingAgent(async ({ text: input }) => reply(`${input}!`));
    const clock = createVirtualClock();
    await using served = startHandler({ agent, clock, conversations: { maxEntries: 3, keepMs: 60_000 } });
    for (const input of ["a", "b", "c"]) await served.send(input, here);
    await clock.advance(59_000);
    await served.send("d", here);
    await clock.advance(20);
    await clock.advance(60_000);
    await served.send("e", here);
    expect(conversations.slice(3)).toEqual([["agent: b!", "user: c", "agent: c!"], []]);
  });

  it("when an owner has too many conversations, the least recent go first, never those of others", async () => {
    const { agent, conversations } = recordingAgent(async () => reply("ok"));
    await using served = startHandler({ agent, limits: { conversationEntriesPerOwner: 16 } });
    await served.send("go", here, { principal: { owner: "bob" } });
    for (let count = 0; count < 20; count++) await served.send("go", { contextId: `context ${count}` });
    await settle();
    await served.send("read", { contextId: "context 0" });
    await served.send("read", { contextId: "context 19" });
    await served.send("read", here, { principal: { owner: "bob" } });
    expect(conversations.slice(-3)).toEqual([[], ["user: go", "agent: ok"], ["user: go", "agent: ok"]]);
  });

  it("the program that hosts the agent can delete conversations", async () => {
    const { agent, conversations } = recordingAgent(async () => reply("ok"));
    await using served = startHandler({ agent });
    await served.send("go", here);
    const alice = { tenant: "", owner: "alice" };
    expect(await served.handler.deleteConversation(alice, "here")).toBe(true);
    expect(await served.handler.deleteConversation(alice, "here")).toBe(false);
    await served.send("read", here);
    expect(conversations.at(-1)).toEqual([]);
  });
});
