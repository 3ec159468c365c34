import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { ConversationQuery, StoredConversationRecord, TaskStore } from "../../../src/core/ports.js";
import { artifact, completed, reply } from "../../../src/protocol/events.js";
import type { Artifact, Message } from "../../../src/protocol/model.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { FaultPlan, type FaultWay, faultStore, type StoreCall } from "../../support/fault-store.js";
import { startHandler, type TestHandler } from "../../support/handler.js";
import { messageOf, openStream, textIn } from "../../support/say.js";
import { storeLine } from "../../support/store-line.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const alice = { agent: "", tenant: "", owner: "alice" };
const forEver = new Promise<never>(() => {});
const here = { contextId: "here" };

/** The entries of alice's conversation in a line each. */
async function storedEntries(store: TaskStore, query: Partial<ConversationQuery> = {}): Promise<string[]> {
  const line = ({ kind, content }: StoredConversationRecord) =>
    `${kind}: ${textIn((content as Message | Artifact | undefined)?.parts)}`;
  return (await store.readConversation(alice, "here", { limit: 100, maxBytes: 1 << 20, ...query })).map(line);
}

/** Starts and kills processes on one store. */
function place(agent: Agent, restartable: boolean) {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const start = (): TestHandler & { die(): void } => {
    const line = storeLine(store);
    return { ...startHandler({ agent, clock, restartable, store: line.store }), die: () => line.hold() };
  };
  return { clock, store, start };
}

describe("the conversation of a task whose process dies", () => {
  const agent: Agent = async function* ({ attempt }) {
    if (attempt === 1) yield artifact("kept", { artifactId: "kept" });
    yield artifact(`report ${attempt}`, { artifactId: "report", lastChunk: true });
    if (attempt === 1) await forEver;
    yield completed("done");
  };

  it("a conversation has each message once, and each artifact as the turn that ran again has left it", async () => {
    const { clock, store, start } = place(agent, true);
    const first = start();
    await openStream(first.stream("go", here));
    await settle();
    first.die();
    await using _ = start();
    await clock.advance(20_000);
    expect(await storedEntries(store)).toEqual(["user: go", "artifact: kept", "artifact: report 2", "agent: done"]);
  });

  it("a conversation has the artifacts that are left when the task of a dead process is given up", async () => {
    const { clock, store, start } = place(agent, false);
    const first = start();
    await openStream(first.stream("go", here));
    await settle();
    first.die();
    await using _ = start();
    await clock.advance(20_000);
    const failed = "agent: the process that worked on the task has gone";
    expect(await storedEntries(store)).toEqual(["user: go", "artifact: kept", "artifact: report 1", failed]);
  });
});

describe("a direct reply", () => {
  function replying(until = Promise.resolve()) {
    const clock = createVirtualClock();
    const memory = memoryTaskStore({ clock });
    const line = storeLine(memory);
    const agent: Agent = async ({ text }) => {
      await until;
      return reply(`${text}!`);
    };
    const served = startHandler({ clock, store: line.store, agent });
    return { served, clock, line, memory };
  }

  it("a direct reply is answered before it is stored, and stored without a further call", async () => {
    const { served, memory, line } = replying();
    await using _ = served;
    line.hold();
    expect(textIn(messageOf(await served.send("a", here)).parts)).toBe("a!");
    expect(await storedEntries(memory)).toEqual([]);
    line.restore();
    await served.clock.advance(20);
    expect(await storedEntries(memory)).toEqual(["user: a", "agent: a!"]);
  });

  it("a direct reply is stored when its process is closed at once", async () => {
    const { served, memory } = replying();
    await served.send("a", here);
    await served[Symbol.asyncDispose]();
    expect(await storedEntries(memory)).toEqual(["user: a", "agent: a!"]);
  });

  it("direct replies are kept from the start in their order, also for an agent that reads later", async () => {
    let lines: readonly string[] = [];
    await using served = startHandler({
      store: memoryTaskStore(),
      agent: async ({ text, conversation }) => {
        if (text === "read") lines = (await conversation({ last: 1_000 })).map((entry) => entry.text);
        return text === "task" ? completed("done") : reply(`${text}!`);
      },
    });
    const expected: string[] = [];
    for (let count = 1; count <= 300; count++) {
      await served.send(`${count}`, here);
      expected.push(`${count}`, `${count}!`);
      if (count % 100 !== 0) continue;
      // The task must not overtake the reply before it, which is written behind its answer.
      await served.send("task", here);
      expected.push("task", "done");
    }
    await served.send("read", here);
    expect(lines).toEqual(expected);
  });

  it("a direct reply that finds the store away is answered, and stored when the store is back", async () => {
    const gate = Promise.withResolvers<void>();
    const { served, memory, line } = replying(gate.promise);
    await using _ = served;
    const answered = served.send("a", here);
    line.cut();
    await served.clock.advance(8_000);
    gate.resolve();
    expect(textIn(messageOf(await answered).parts)).toBe("a!");
    await settle();
    expect(await storedEntries(memory)).toEqual([]);
    line.restore();
    await served.clock.advance(4_000);
    expect(await storedEntries(memory)).toEqual(["user: a", "agent: a!"]);
  });

  it.each<[FaultWay]>([["fails"], ["fails after its effect"]])(
    "a direct reply is written once when its write %s, and the log says how many may be missing",
    async (way) => {
      const clock = createVirtualClock();
      const memory = memoryTaskStore({ clock });
      const spoil = ({ method }: StoreCall) =>
        method === "addToConversations" && plan.spoiled === 0 ? way : undefined;
      const plan: FaultPlan = new FaultPlan({ clock, hangMs: 500, spoil });
      const store = faultStore(memory, plan);
      await using served = startHandler({
        clock,
        store,
        agent: async ({ text }) => reply(`${text}!`),
      });
      expect(textIn(messageOf(await served.send("a", here)).parts)).toBe("a!");
      await clock.advance(20);
      await served.send("b", here);
      await clock.advance(20);
      const first = way === "fails" ? [] : ["user: a", "agent: a!"];
      expect(await storedEntries(memory)).toEqual([...first, "user: b", "agent: b!"]);
      const lost = served.log.filter(({ message }) => message?.includes("missing in their conversations"));
      expect(lost.map(({ fields }) => fields)).toEqual([{ lost: 1 }]);
    },
  );
});
