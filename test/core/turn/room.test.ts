import { afterEach, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { inputRequired, reply } from "../../../src/protocol/events.js";
import { startHandler, type TestHandler, type TestHandlerOptions } from "../../support/handler.js";
import { errorOf, messageOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle, turnUntil } from "../../support/virtual-clock.js";

// Sends that find no room for their turn wait, fairly by owner.

const handlers: TestHandler[] = [];
afterEach(async () => {
  for (const handler of handlers.splice(0)) await handler[Symbol.asyncDispose]();
});

/** An agent whose turns end on request, in the order they began. */
function serve(limits: TestHandlerOptions["limits"]) {
  const running: { readonly text: string; readonly end: () => void }[] = [];
  const agent: Agent = async ({ text, task }) => {
    await new Promise<void>((end) => running.push({ text, end }));
    return text === "ask" && task === undefined ? inputRequired("what?") : reply(text);
  };
  const clock = createVirtualClock();
  const served = startHandler({ agent, clock, limits });
  handlers.push(served);
  const send = (text: string, owner = "alice", taskId = "") => served.send(text, { taskId }, { principal: { owner } });
  const end = async (): Promise<string | undefined> => {
    const first = running.shift();
    first?.end();
    await settle();
    return first?.text;
  };
  return { served, clock, running, send, end };
}

const textOf = async (answer: ReturnType<TestHandler["send"]>): Promise<string> =>
  textIn(messageOf(await answer).parts);

it("a send beyond the turns of its owner starts when another turn of the owner ends", async () => {
  const { running, send, end } = serve({ turnsPerOwner: 1 });
  const [first, second] = [send("first"), send("second")];
  await settle();
  expect(running.map(({ text }) => text)).toEqual(["first"]);
  await end();
  expect(running.map(({ text }) => text)).toEqual(["second"]);
  await end();
  expect([await textOf(first), await textOf(second)]).toEqual(["first", "second"]);
});

it("a message that continues an idle task waits for a turn of its owner as well", async () => {
  const { running, send, end } = serve({ turnsPerOwner: 1 });
  const question = send("ask");
  await settle();
  await end();
  const { id } = taskOf(await question);
  const [busy, answer] = [send("busy"), send("ask", "alice", id)];
  await settle();
  expect(running.map(({ text }) => text)).toEqual(["busy"]);
  await end();
  await end();
  await busy;
  expect(taskOf(await answer).id).toBe(id);
});

it.each([
  ["an owner", { turnsPerOwner: 1 }, { code: "resourceExhausted", metadata: { limit: "turnsPerOwner" } }],
  ["the process", { turnsPerProcess: 1 }, { code: "unavailable", metadata: { limit: "turnsPerProcess" } }],
] as const)(
  "a send that finds no room at %s within a second is refused, and starts nothing",
  async (_, limits, error) => {
    const { clock, running, send, end } = serve(limits);
    const first = send("first");
    await settle();
    const late = errorOf(send("second"));
    await settle();
    await clock.advance(999);
    await clock.advance(1);
    expect(await late).toMatchObject({ ...error, retryAfterMs: 1000 });
    await end();
    await first;
    expect(running).toEqual([]);
  },
);

it("owners get free turns one after another, however many sends of one of them wait", async () => {
  const { running, send, end } = serve({ turnsPerProcess: 1 });
  const sends = ["a1", "a2", "a3", "a4"].map((text) => send(text, "alice"));
  await settle();
  sends.push(send("b1", "bob"), send("b2", "bob"), send("c1", "carol"));
  await settle();
  const order: (string | undefined)[] = [];
  while (running.length > 0) order.push(await end());
  expect(order).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
  await Promise.all(sends);
});

it("an owner at its limit of turns holds up no other owner", async () => {
  const { running, send, end } = serve({ turnsPerOwner: 1 });
  const sends = [send("a1", "alice"), send("a2", "alice"), send("b1", "bob")];
  await settle();
  expect(running.map(({ text }) => text)).toEqual(["a1", "b1"]);
  while (running.length > 0) await end();
  await Promise.all(sends);
});

it("no more sends of one owner wait than may run", async () => {
  const { send, running, end } = serve({ turnsPerOwner: 2 });
  const sends = ["1", "2", "3", "4"].map((text) => send(text));
  await settle();
  expect(await errorOf(send("5"))).toMatchObject({ code: "resourceExhausted" });
  while (running.length > 0) await end();
  expect(await Promise.all(sends.map(textOf))).toEqual(["1", "2", "3", "4"]);
});

it("a shutdown refuses the sends that wait for a turn", async () => {
  const { served, clock, send, running, end } = serve({ turnsPerOwner: 1 });
  const first = send("first");
  const second = errorOf(send("second"));
  await settle();
  expect(running.map(({ text }) => text)).toEqual(["first"]);
  await turnUntil(clock, served.handler.drain(0));
  expect(await second).toMatchObject({ code: "unavailable", message: "the server is shutting down" });
  await first;
  await end();
  expect(running).toEqual([]);
});
