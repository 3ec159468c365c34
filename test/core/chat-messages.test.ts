import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/core/agent.js";
import { chatMessages } from "../../src/core/chat-messages.js";
import { artifact, completed, inputRequired, reply } from "../../src/protocol/events.js";
import { data } from "../../src/protocol/parts.js";
import { startHandler } from "../support/handler.js";
import { taskOf } from "../support/say.js";

const here = { contextId: "here" };

describe("chatMessages", () => {
  it("chatMessages gives the conversation and the message of the turn in the words of model APIs", async () => {
    const prompts: Record<string, unknown>[][] = [];
    const agent: Agent = async function* (turn) {
      prompts.push(await chatMessages(turn));
      if (turn.text === "hello") return yield reply("good morning");
      await turn.ask(inputRequired("for which ship?"));
      prompts.push(await chatMessages(turn));
      yield artifact("berth 4");
      yield completed("there you are");
    };
    await using served = startHandler({ agent });
    await served.send("hello", here);
    const { id: taskId } = taskOf(await served.send("a berth", here));
    await served.send("the Alba", { taskId, ...here });
    await served.send("hello", here);
    const hello = [
      { role: "user", content: "hello" },
      { role: "assistant", content: "good morning" },
    ];
    const berth = { role: "user", content: "a berth" };
    const ship = [
      { role: "assistant", content: "for which ship?" },
      { role: "user", content: "the Alba" },
    ];
    const result = [
      { role: "assistant", content: "berth 4" },
      { role: "assistant", content: "there you are" },
    ];
    expect(prompts).toEqual([
      [{ role: "user", content: "hello" }],
      [...hello, berth],
      [...hello, berth, ...ship],
      [...hello, berth, ...ship, ...result, { role: "user", content: "hello" }],
    ]);
  });

  it("chatMessages leaves out what has no text, and reads no more entries than `last`", async () => {
    const prompts: Record<string, unknown>[][] = [];
    const agent: Agent = async (turn) => {
      prompts.push(await chatMessages(turn, { last: 3 }));
      return reply(data({ berth: 4 }));
    };
    await using served = startHandler({ agent });
    await served.send("one", here);
    await served.send("two", here);
    await served.send([data({ ship: "Alba" })], here);
    expect(prompts).toEqual([
      [{ role: "user", content: "one" }],
      [
        { role: "user", content: "one" },
        { role: "user", content: "two" },
      ],
      // Of the three entries read, only this one has text.
      [{ role: "user", content: "two" }],
    ]);
  });

  it("chatMessages rejects as `turn.conversation` does", async () => {
    const failures: string[] = [];
    const agent: Agent = async (turn) => {
      await chatMessages(turn, { last: 0 }).catch((error: Error) => failures.push(error.message));
      await chatMessages(turn, { lst: 1 } as object).catch((error: Error) => failures.push(error.message));
      return reply("done");
    };
    await using served = startHandler({ agent });
    await served.send("hello");
    expect(failures).toEqual([
      "`last` of turn.conversation() is a whole number from 1 to 1000, not 0",
      "chatMessages(): lst cannot be given: did you mean last?",
    ]);
  });
});
