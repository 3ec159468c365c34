// Examples for the docstrings of `trivium/testing`.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Agent, Client, PushStore, RateStore, Signals, TaskStore } from "trivium";
import {
  connectTo,
  createTestClock,
  pushStoreContract,
  rateStoreContract,
  settle,
  signalsContract,
  taskStoreContract,
  turnUntil,
  waitFor,
} from "trivium/testing";

declare const agent: Agent;
declare const client: Client;
declare const taskId: string;
declare function openTaskStore(): TaskStore;
declare function openPushStore(): PushStore;
declare function openRateStore(): RateStore;
declare function openSignals(): Signals;

{
  // #region connectTo
  it("shouts", async () => {
    await using client = await connectTo(agent);
    const answer = await client.send("hello");
    assert.equal(answer.text, "HELLO");
  });
  // #endregion
}

{
  // #region createTestClock
  const clock = createTestClock();
  await using client = await connectTo(agent, { clock, limits: { turnDeadlineMs: 60_000 } });
  const answer = client.send("wait for ever");
  await clock.advance(60_000);
  assert.equal((await answer).state, "failed");
  // #endregion
}

{
  // #region settle
  let isDone = false;
  void client.send("hello").then(() => {
    isDone = true;
  });
  await settle();
  assert.equal(isDone, true);
  // #endregion
}

{
  const clock = createTestClock();
  // #region turnUntil
  await turnUntil(clock, client.close());
  // #endregion
}

{
  // #region waitFor
  const question = await waitFor(client, taskId, "input-required", { timeoutMs: 2000 });
  assert.equal(question.text, "Which ship?");
  // #endregion
}

{
  // #region taskStoreContract
  describe("our task store", () => {
    for (const { name, run } of taskStoreContract(async () => ({ store: openTaskStore() }))) it(name, run);
  });
  // #endregion
}

{
  // #region pushStoreContract
  describe("our push store", () => {
    for (const { name, run } of pushStoreContract(async () => ({ store: openPushStore() }))) it(name, run);
  });
  // #endregion
}

{
  // #region rateStoreContract
  describe("our rate store", () => {
    const make = async () => ({ here: openRateStore(), there: openRateStore() });
    for (const { name, run } of rateStoreContract(make)) it(name, run);
  });
  // #endregion
}

{
  // #region signalsContract
  describe("our signals", () => {
    const make = async () => ({ here: openSignals(), there: openSignals() });
    for (const { name, run } of signalsContract(make)) it(name, run);
  });
  // #endregion
}
