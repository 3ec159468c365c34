import { once } from "node:events";
import { afterEach, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { artifact, completed, inputRequired, working } from "../../../src/protocol/events.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { startHandler, type TestHandler } from "../../support/handler.js";
import { errorOf, lineOf, linesOf, openStream, taskOf } from "../../support/say.js";
import { settle } from "../../support/virtual-clock.js";

// The stream of a follow-up message broke, and its caller resumes it with an event id.

const handlers: TestHandler[] = [];
afterEach(async () => {
  for (const handler of handlers.splice(0)) await handler[Symbol.asyncDispose]();
});

/** A working task with a follow-up message in its inbox, and that message's stream so far. */
async function waiting(agent: Agent) {
  const served = startHandler({ agent });
  handlers.push(served);
  const started = await openStream(served.stream("go"));
  const taskId = taskOf(started.firstItem.response).id;
  const second = { taskId, messageId: "second" };
  const broken = await openStream(served.stream("more", second));
  await settle();
  return {
    served,
    taskId,
    started,
    broken,
    resumed: (after: string | undefined) => served.stream("more", second, { after }),
  };
}

it("a resumed send learns that the task ended before it took the message, wherever it resumes", async () => {
  const gate = Promise.withResolvers<void>();
  const { started, broken, resumed } = await waiting(async function* () {
    yield working();
    await gate.promise;
    yield artifact("a", { artifactId: "x" });
    yield completed();
  });
  const early = openStream(resumed(broken.firstItem.id));
  gate.resolve();
  const refused = { code: "unsupportedOperation", message: "the task ended before it took the message" };
  const { readRest: rest } = await early;
  expect(await errorOf(rest())).toMatchObject(refused);
  const items: StreamItem[] = [];
  for await (const item of { [Symbol.asyncIterator]: () => started.iterator }) items.push(item);
  for (const { id } of [broken.firstItem, ...items]) expect(await errorOf(linesOf(resumed(id)))).toMatchObject(refused);
  const elsewhere = broken.firstItem.id?.replace(/\.[^.]+(\.[^.]+)$/, ".other$1");
  expect(await errorOf(linesOf(resumed(elsewhere)))).toMatchObject(refused);
});

it("a resumed send follows the task past stops before the message was taken, and ends at the next one", async () => {
  const gate = Promise.withResolvers<void>();
  const { broken, resumed } = await waiting(async function* ({ text }) {
    if (text === "more") {
      yield artifact("b", { artifactId: "y" });
      yield inputRequired("and now?");
      return;
    }
    yield working();
    await gate.promise;
    yield artifact("a", { artifactId: "x" });
    yield inputRequired("what?");
  });
  const early = openStream(resumed(broken.firstItem.id));
  gate.resolve();
  const { firstItem: first, readRest: rest } = await early;
  const whole = [
    'artifact x "a"',
    "status INPUT_REQUIRED",
    "status WORKING",
    'artifact y "b"',
    "status INPUT_REQUIRED",
  ];
  expect(lineOf(first)).toBe(whole[0]);
  expect(await rest()).toEqual(whole.slice(1));
  expect(await linesOf(resumed(broken.firstItem.id))).toEqual(whole);
});

it("a resumed send goes to the named task, whatever event its caller has seen", async () => {
  const { served, broken } = await waiting(async function* ({ text, signal }) {
    yield text === "other" ? inputRequired("what?") : working();
    if (text === "go") await once(signal, "abort");
  });
  const other = await openStream(served.stream("other"));
  const { id } = taskOf(other.firstItem.response);
  await settle();
  const ids = { taskId: id, messageId: "third" };
  expect((await linesOf(served.stream("answer", ids, { after: broken.firstItem.id }))).at(-1)).toBe("status COMPLETED");
});
