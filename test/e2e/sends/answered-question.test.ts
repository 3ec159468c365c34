import { artifact, completed, inputRequired } from "trivium";
import { expect, it } from "vitest";
import { startHandler } from "../../support/handler.js";
import { stateOf, taskOf } from "../../support/say.js";
import { createVirtualClock } from "../../support/virtual-clock.js";

// A caller that answers a question and does not wait must not get the old question back: it would ask its person again.

const configuration = { returnImmediately: true };

it.each([
  ["a turn that is started anew", false],
  ["a turn that stayed", true],
])("an answer that does not wait for %s shows the task at work", async (_, stays) => {
  const going = Promise.withResolvers<void>();
  const clock = createVirtualClock();
  await using served = startHandler({
    clock,
    async *agent({ task, ask }) {
      if (task !== undefined) {
        await going.promise;
        yield completed("thanks");
      } else if (stays) {
        await ask(inputRequired("which?"));
        await going.promise;
        yield artifact("done");
      } else {
        yield inputRequired("which?");
      }
    },
  });
  const question = taskOf(await served.send("go"));
  expect(stateOf(question)).toBe("INPUT_REQUIRED");
  const answer = taskOf(await served.send("that one", { taskId: question.id, configuration }));
  expect(stateOf(answer)).toBe("WORKING");
  going.resolve();
  expect(stateOf(await served.get(question.id))).toMatch(/WORKING|COMPLETED/);
});

it("the next question of the turn is given, and not the one that was answered", async () => {
  await using served = startHandler({
    async *agent({ text }) {
      yield inputRequired(text === "go" ? "first?" : "second?");
    },
  });
  const question = taskOf(await served.send("go"));
  const answer = taskOf(await served.send("one", { taskId: question.id, configuration }));
  const told = answer.status?.message?.parts[0]?.content.value;
  expect([stateOf(answer), told]).not.toEqual(["INPUT_REQUIRED", "first?"]);
});
