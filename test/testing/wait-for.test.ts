import { artifact, completed, inputRequired, working } from "trivium";
import { expect, it } from "vitest";
import { connectTo } from "../../src/testing/connect-to.js";
import { waitFor } from "../../src/testing/wait-for.js";
import { say, taskOf } from "../support/say.js";

function steps() {
  const gate = Promise.withResolvers<void>();
  const agent = async function* () {
    yield working();
    await gate.promise;
    yield artifact("made", { artifactId: "a" });
    yield inputRequired("more?");
  };
  return { agent, go: () => gate.resolve() };
}

const immediately = say("go", { configuration: { returnImmediately: true } });

it("waitFor returns the task when it reaches a state, and at once if it is there", async () => {
  const { agent, go } = steps();
  await using client = await connectTo(agent);
  const { id } = taskOf(await client.sendMessage(immediately));
  await waitFor(client, id, "working");
  const waiting = waitFor(client, id, "input-required");
  go();
  expect((await waiting).state).toBe("input-required");
  expect((await waitFor(client, id, "input-required")).taskId).toBe(id);
});

it("waitFor returns the task when a predicate accepts it, folded from its events", async () => {
  const { agent, go } = steps();
  await using client = await connectTo(agent);
  const { id } = taskOf(await client.sendMessage(immediately));
  const waiting = waitFor(client, id, ({ artifacts }) => artifacts.length > 0);
  go();
  expect((await waiting).artifacts).toMatchObject([{ id: "a", text: "made" }]);
});

it("waitFor reports how the task has ended if that is not what was awaited", async () => {
  await using client = await connectTo(async () => completed());
  const { id } = taskOf(await client.sendMessage(say("go")));
  await expect(waitFor(client, id, "input-required")).rejects.toThrow(
    `the task ${id} did not reach input-required and has ended: its state is completed`,
  );
});

it("waitFor reports the task's state when the time is over", async () => {
  const { agent, go } = steps();
  await using client = await connectTo(agent);
  const { id } = taskOf(await client.sendMessage(immediately));
  await waitFor(client, id, "working");
  await expect(waitFor(client, id, "completed", { timeoutMs: 30 })).rejects.toThrow(
    `the task ${id} did not reach completed within 30 ms: its state is working`,
  );
  go();
});

it("waitFor rejects as the agent does for a task that is none", async () => {
  await using client = await connectTo(async () => completed());
  await expect(waitFor(client, "none", "completed")).rejects.toMatchObject({ code: "taskNotFound" });
});
