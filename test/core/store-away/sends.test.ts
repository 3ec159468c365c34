import { describe, expect, it } from "vitest";
import type { Agent, Turn } from "../../../src/core/agent.js";
import { artifact, inputRequired, reply, working } from "../../../src/protocol/events.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { contextOf, startHandler, type TestHandler, type TestHandlerOptions } from "../../support/handler.js";
import { errorOf, linesOf, messageOf, requestOf, stateOf, taskOf, textIn } from "../../support/say.js";
import { storeLine } from "../../support/store-line.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const once = { extensions: [idempotentSendExtension] };
const refused = { code: "unavailable", retryAfterMs: 1000 };

/** A handler whose line to its store can be cut. */
function start(agent: Agent, options: Partial<TestHandlerOptions> = {}) {
  const clock = createVirtualClock();
  const line = storeLine(memoryTaskStore({ clock }));
  const turns: Turn[] = [];
  const counting: Agent = (turn) => {
    turns.push(turn);
    return agent(turn);
  };
  const handler = startHandler({ clock, store: line.store, ...options, agent: counting });
  return { ...handler, clock, line, turns, stop: false };
}

/** Lets the heartbeat notice that the store is away. */
async function noticed({ clock }: Pick<TestHandler, "clock">): Promise<void> {
  await clock.advance(8000);
}

describe("while the store is known to be away", () => {
  it.each<["cut" | "hold"]>([["cut"], ["hold"]])(
    "while the store is known to be away every send is refused at once, before its agent starts (%s)",
    async (how) => {
      await using served = start(async () => inputRequired("more?"));
      const { id: taskId } = taskOf(await served.send("go"));
      await settle();
      served.line[how]();
      await noticed(served);
      const turns = served.turns.length;
      const sends = [
        served.send("new"),
        served.stream("new"),
        served.send("once", {}, once),
        served.send("more", { taskId }),
        served.send("more", { taskId }, once),
        served.send("later", { configuration: { returnImmediately: true } }),
      ];
      for (const send of sends) expect(await errorOf(send)).toMatchObject(refused);
      expect(served.turns).toHaveLength(turns);
      served.line.restore();
      await served.clock.advance(1000);
      expect(stateOf(taskOf(await served.send("new")))).toBe("INPUT_REQUIRED");
    },
  );

  it("while the store is away an invalid message is still refused with its violations", async () => {
    await using served = start(async () => working(), { inputModes: ["image/png"] });
    served.line.cut();
    await noticed(served);
    expect(await errorOf(served.send("text"))).toMatchObject({ code: "contentTypeNotSupported" });
  });

  it("while the store is away a reply that needs no store is answered, however long the agent takes", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = start(async () => {
      await gate.promise;
      return reply("here you are");
    });
    await served.clock.advance(2900);
    served.line.cut();
    const [response, streamed] = [served.send("go"), linesOf(served.stream("go"))];
    await served.clock.advance(20_000);
    gate.resolve();
    expect(textIn(messageOf(await response).parts)).toBe("here you are");
    expect(await streamed).toEqual(['message "here you are"']);
  });

  it("a turn that runs waits for the store that is away and loses nothing", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = start(async ({ emit }) => {
      await emit(working());
      await gate.promise;
      await emit(artifact("done", { artifactId: "a", lastChunk: true }));
    });
    const lines = linesOf(served.stream("go"));
    await settle();
    served.line.cut();
    gate.resolve();
    await served.clock.advance(12_000);
    expect(await errorOf(served.send("new"))).toMatchObject(refused);
    served.line.restore();
    await served.clock.advance(3000);
    expect(await lines).toEqual(["task SUBMITTED", "status WORKING", 'artifact a "done" last', "status COMPLETED"]);
  });

  it("one failed call of the store refuses no send, since a probe reaches the store", async () => {
    await using served = start(async () => working("done"));
    served.line.cut();
    const failed = errorOf(served.get("none"));
    served.line.restore();
    expect(await failed).toMatchObject(refused);
    expect(stateOf(taskOf(await served.send("go")))).toBe("COMPLETED");
    expect(served.log.filter(({ message }) => message?.includes("store is"))).toEqual([]);
  });
});

describe("a store that is slow", () => {
  it("a slow store is not taken for away while it answers other writes", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = start(async ({ emit, text }) => {
      await emit(working());
      while (text === "go on" && !served.stop) {
        await new Promise<void>((resolve) => served.clock.after(100, resolve));
        await emit(working());
      }
      await gate.promise;
    });
    const response = served.send("go on");
    await served.clock.advance(2000);
    served.line.hold("renew");
    await served.clock.advance(8000);
    const another = served.send("new");
    await settle();
    served.stop = true;
    gate.resolve();
    await served.clock.advance(2000);
    expect([stateOf(taskOf(await response)), stateOf(taskOf(await another))]).toEqual(["COMPLETED", "COMPLETED"]);
    expect(served.log.map(({ message }) => message)).not.toContain("the task store is away");
    served.line.restore();
  });
});

describe("a store that does not answer a send", () => {
  it.each<["cut" | "hold"]>([["cut"], ["hold"]])(
    "a store that does not answer a send loses no reply of an agent that is slow when an outage begins (%s)",
    async (how) => {
      const gate = Promise.withResolvers<void>();
      await using served = start(async () => {
        await gate.promise;
        return reply("here you are");
      });
      // A renewal has just succeeded, so nothing has noticed the outage when the task is due.
      await served.clock.advance(3050);
      const response = served.send("go");
      await settle();
      served.line[how]();
      await served.clock.advance(20_000);
      gate.resolve();
      expect(textIn(messageOf(await response).parts)).toBe("here you are");
      expect(served.turns[0]?.signal.aborted).toBe(false);
      served.line.restore();
    },
  );

  it.each<["cut" | "hold"]>([["cut"], ["hold"]])(
    "a send that the store does not answer ends after `storeWaitMs`, and its late task is FAILED for good (%s)",
    async (how) => {
      await using served = start(
        async ({ emit, signal }) => {
          await emit(working());
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        },
        { restartable: true },
      );
      served.line[how]();
      const errors = [errorOf(served.send("one")), errorOf(served.stream("two"))];
      await served.clock.advance(2000);
      for (const error of errors) expect(await error).toMatchObject(refused);
      expect(served.turns.map(({ signal }) => signal.aborted)).toEqual([true, true]);
      await served.clock.advance(30_000);
      served.line.restore();
      // What is under way arrives, and the first try to end the task fails.
      served.line.fill();
      await served.clock.advance(4000);
      served.line.restore();
      await served.clock.advance(8000);
      const { tasks } = await served.operations.listTasks(requestOf("listTasks"), contextOf());
      expect(tasks.map(stateOf)).toEqual(how === "cut" ? [] : ["FAILED", "FAILED"]);
      for (const { status } of tasks) expect(textIn(status?.message?.parts)).toContain("stored too late");
      expect(served.turns).toHaveLength(2);
    },
  );

  it.each(["read", "append"] as const)(
    "a follow-up ends after `storeWaitMs` when the store hangs in %s",
    async (method) => {
      await using served = start(async () => inputRequired("more?"));
      const { id: taskId } = taskOf(await served.send("go"));
      await settle();
      served.line.hold(method);
      const error = errorOf(served.send("more", { taskId }));
      await served.clock.advance(2000);
      expect(await error).toMatchObject(refused);
      expect(served.turns).toHaveLength(1);
      served.line.restore();
      await served.clock.advance(4000);
      expect(stateOf(await served.get(taskId))).toBe("INPUT_REQUIRED");
      expect(stateOf(taskOf(await served.send("again", { taskId })))).toBe("INPUT_REQUIRED");
    },
  );

  it("a send that waits in the inbox of a running turn ends when the store does not answer", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = start(async ({ emit }) => {
      await emit(working());
      await gate.promise;
    });
    const response = served.send("go");
    await settle();
    const { tasks } = await served.operations.listTasks(requestOf("listTasks"), contextOf());
    served.line.hold("put");
    const error = errorOf(served.send("more", { taskId: tasks[0]?.id ?? "" }));
    await served.clock.advance(2000);
    expect(await error).toMatchObject(refused);
    gate.resolve();
    expect(stateOf(taskOf(await response))).toBe("COMPLETED");
  });

  it.each([
    ["a reply", async () => reply("yes")],
    ["a refusal", async () => Promise.reject(new TypeError("no"))],
  ])("an idempotent send ends when its outcome, %s, cannot be recorded", async (_, outcome) => {
    const gate = Promise.withResolvers<void>();
    await using served = start(async () => {
      await gate.promise;
      return outcome();
    });
    const error = errorOf(served.send("go", {}, once));
    await settle();
    served.line.cut();
    gate.resolve();
    await served.clock.advance(2500);
    expect(await error).toMatchObject(refused);
  });
});

describe("a store that is full", () => {
  it("a full store refuses sends at once, answers reads, and takes sends again when there is room", async () => {
    await using served = start(async () => working("done"));
    const { id } = taskOf(await served.send("go"));
    served.line.fill();
    const first = errorOf(served.send("one"));
    await served.clock.advance(2000);
    expect(await first).toMatchObject(refused);
    const turns = served.turns.length;
    expect(await errorOf(served.send("two"))).toMatchObject(refused);
    await served.clock.advance(30_000);
    expect(await errorOf(served.send("three"))).toMatchObject(refused);
    expect(served.turns).toHaveLength(turns);
    expect(stateOf(await served.get(id))).toBe("COMPLETED");
    served.line.restore();
    await served.clock.advance(1000);
    expect(stateOf(taskOf(await served.send("four")))).toBe("COMPLETED");
    expect(served.log.filter(({ level }) => level !== "debug").map(({ message }) => message)).toEqual([
      "the task store is full",
      "the task store is back",
    ]);
  });
});
