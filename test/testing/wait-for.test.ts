import { artifact, completed, inputRequired, TaskState, working } from "trivium";
import { expect, it } from "vitest";
import { connectTo } from "../../src/testing/connect-to.js";
import { waitFor } from "../../src/testing/wait-for.js";
import { say, taskOf } from "../support/say.js";

const { WORKING, INPUT_REQUIRED, COMPLETED } = TaskState;

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

it("returns the task when it reaches a state, and at once if it is there", async () => {
  const { agent, go } = steps();
  await using client = await connectTo(agent);
  const { id } = taskOf(await client.sendMessage(immediately));
  await waitFor(client, id, WORKING);
  const waiting = waitFor(client, id, INPUT_REQUIRED);
  go();
  expect((await waiting).status?.state).toBe(INPUT_REQUIRED);
  expect((await waitFor(client, id, INPUT_REQUIRED)).id).toBe(id);
});

it("returns the task when a predicate accepts it, folded from its events", async () => {
  const { agent, go } = steps();
  await using client = await connectTo(agent);
  const { id } = taskOf(await client.sendMessage(immediately));
  const waiting = waitFor(client, id, ({ artifacts }) => artifacts.length > 0);
  go();
  expect((await waiting).artifacts).toMatchObject([{ artifactId: "a" }]);
});

it("reports how the task has ended if that is not what was awaited", async () => {
  await using client = await connectTo(async () => completed());
  const { id } = taskOf(await client.sendMessage(say("go")));
  await expect(waitFor(client, id, INPUT_REQUIRED)).rejects.toThrow(
    `the task ${id} did not come to INPUT_REQUIRED and has ended: its state is COMPLETED`,
  );
});

it("reports the task's state when the time is over", async () => {
  const { agent, go } = steps();
  await using client = await connectTo(agent);
  const { id } = taskOf(await client.sendMessage(immediately));
  await waitFor(client, id, WORKING);
  await expect(waitFor(client, id, COMPLETED, { timeoutMs: 30 })).rejects.toThrow(
    `the task ${id} did not come to COMPLETED within 30 ms: its state is WORKING`,
  );
  go();
});

it("rejects as the agent does for a task that is none", async () => {
  await using client = await connectTo(async () => completed());
  await expect(waitFor(client, "none", COMPLETED)).rejects.toMatchObject({ code: "taskNotFound" });
});
