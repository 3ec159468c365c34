import { describe, expect, it } from "vitest";
import type { Turn } from "../../../src/core/agent.js";
import { type AgentEvent, artifact, completed, reply, working } from "../../../src/protocol/events.js";
import { startHandler } from "../../support/handler.js";
import { stateOf, taskOf } from "../../support/say.js";
import { settle } from "../../support/virtual-clock.js";

describe("a late event", () => {
  it.each<[string, AgentEvent]>([
    ["a reply", reply("ok")],
    ["a terminal status", completed()],
  ])("a late event is dropped after %s with a log line, and does no harm", async (_, last) => {
    const turns: Turn[] = [];
    await using served = startHandler({
      async agent(turn) {
        turns.push(turn);
        await turn.emit(last);
        await turn.emit(artifact("late"));
      },
    });
    const { payload } = await served.send("go");
    await settle();
    await turns[0]?.emit(artifact("later"));
    expect(served.log.filter(({ message }) => message?.includes("dropped"))).toHaveLength(2);
    if (payload.case === "task") expect((await served.get(payload.value.id)).artifacts).toEqual([]);
  });

  it("an answer closes a generator that never stops yielding", async () => {
    const closed = Promise.withResolvers<number>();
    let eventCount = 0;
    await using served = startHandler({
      async *agent() {
        try {
          yield completed();
          for (;;) yield artifact(`${eventCount++}`);
        } finally {
          closed.resolve(eventCount);
        }
      },
    });
    expect(stateOf(taskOf(await served.send("go")))).toBe("COMPLETED");
    expect(await closed.promise).toBeLessThan(100);
  });

  it("a late event is dropped after the agent returned, also from a leftover callback", async () => {
    const late = Promise.withResolvers<Turn>();
    await using served = startHandler({
      async agent(turn) {
        late.resolve(turn);
        await turn.emit(artifact("in time"));
      },
    });
    const { id } = taskOf(await served.send("go"));
    const { emit, flush, taskId } = await late.promise;
    await emit(artifact("late"));
    await flush();
    expect(taskId).toBe(id);
    expect((await served.get(id)).artifacts).toHaveLength(1);
    expect(served.log.filter(({ message }) => message?.includes("dropped"))).toHaveLength(1);
  });
});

it("an unhandled emit rejection ends neither the process nor the turn", async () => {
  const errors: unknown[] = [];
  const hear = (reason: unknown): void => void errors.push(reason);
  process.on("unhandledRejection", hear);
  try {
    await using served = startHandler({
      async agent({ emit, receive, ask }) {
        void emit({} as AgentEvent);
        void emit({ ...working(), taskId: "another" });
        await emit(working());
        void receive();
        void receive();
        void ask({} as AgentEvent);
        return completed();
      },
    });
    expect(stateOf(taskOf(await served.send("go")))).toBe("COMPLETED");
    await settle();
    expect(errors).toEqual([]);
    expect(served.log.filter(({ message }) => message?.includes("was refused"))).toHaveLength(2);
  } finally {
    process.off("unhandledRejection", hear);
  }
});
