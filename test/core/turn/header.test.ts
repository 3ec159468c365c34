import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { inputRequired, park, reply, working } from "../../../src/protocol/events.js";
import { startHandler } from "../../support/handler.js";
import { stateOf, taskOf } from "../../support/say.js";
import { settle } from "../../support/virtual-clock.js";

const alice = { agent: "", tenant: "", owner: "alice" };

/** The context of a call with these headers. */
const calling = (headers: Readonly<Record<string, string>>) => ({ header: (name: string) => headers[name] });

/** Notes the cause, the text and the header of each turn, and ends it as the text says. */
function noting(gate?: Promise<void>) {
  const turns: string[] = [];
  const agent: Agent = async function* ({ cause, text, header }) {
    turns.push(`${cause} ${text} ${header("X-User")}`);
    yield working();
    await gate;
    if (text === "ask") yield inputRequired("more?");
    else if (text === "park" && turns.length === 1) yield park();
  };
  return { agent, turns };
}

describe("a header", () => {
  it("a header is that of the call that started the turn, whatever the case of its name", async () => {
    const { agent, turns } = noting();
    await using served = startHandler({ agent });
    const { id: taskId } = taskOf(await served.send("ask", {}, calling({ "x-user": "alice" })));
    await served.send("go", { taskId }, calling({ "x-user": "carol" }));
    await served.send("go", {}, calling({}));
    await served.send("go");
    expect(turns).toEqual(["message ask alice", "message go carol", "message go undefined", "message go undefined"]);
  });

  it("a header is that of a message that waited in the inbox of this process", async () => {
    const gate = Promise.withResolvers<void>();
    const { agent, turns } = noting(gate.promise);
    await using served = startHandler({ agent });
    const response = served.send("ask", { configuration: { returnImmediately: true } }, calling({ "x-user": "alice" }));
    const { id: taskId } = taskOf(await response);
    const answer = served.send("go", { taskId }, calling({ "x-user": "carol" }));
    await settle();
    gate.resolve();
    expect(stateOf(taskOf(await answer))).toBe("COMPLETED");
    expect(turns).toEqual(["message ask alice", "message go carol"]);
  });

  it.each(["while the turn runs", "while the task is parked"])("a header is missing after a wake %s", async (when) => {
    const gate = Promise.withResolvers<void>();
    const { agent, turns } = noting(gate.promise);
    await using served = startHandler({ agent });
    const answer = served.send("park", { configuration: { returnImmediately: true } }, calling({ "x-user": "alice" }));
    const { id } = taskOf(await answer);
    if (when === "while the task is parked") gate.resolve();
    await settle();
    await served.handler.wake(alice, id);
    gate.resolve();
    await settle();
    expect(turns).toEqual(["message park alice", "wake park undefined"]);
  });

  it.each(["", "two words", "x:y", "ä"])("a header cannot be called %j", async (name) => {
    await using served = startHandler({
      async agent({ header }) {
        expect(() => header(name)).toThrow(
          new TypeError(`header(): ${JSON.stringify(name)} is not the name of a header`),
        );
        return reply("ok");
      },
    });
    expect((await served.send("go")).payload.case).toBe("message");
  });
});
