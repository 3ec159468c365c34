import type { Agent, TurnAborted } from "trivium";
import { describe, expect, it } from "vitest";
import { withTimeout } from "../../src/binding/deadline.js";
import { errorOf, say, stateOf, taskOf } from "../support/say.js";
import { bindings, startScene } from "./scene.js";

// What is left of a caller's time when the gateway calls reaches the turn of the agent, and not more.

/** An agent that works until it is aborted. It records the deadlines of its turns, and why the last one ended. */
function patient() {
  const aborted = Promise.withResolvers<string>();
  const deadlines: (number | undefined)[] = [];
  const agent: Agent = async function* ({ text, signal, deadline }) {
    deadlines.push(deadline);
    if (text !== "wait") return;
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    aborted.resolve((signal.reason as TurnAborted).kind);
  };
  return { agent, deadlines, aborted: aborted.promise };
}

const hourMs = 3_600_000;

describe.each(bindings)("in front of an agent that speaks %s alone", (spoken) => {
  it.each(bindings)("a caller's deadline reaches the turn behind a gateway, over %s", async (binding) => {
    const { agent, deadlines, aborted } = patient();
    await using scene = await startScene({
      agent,
      behind: { bindings: [spoken], versions: ["1.0"], deadlines: "abort" },
    });
    const { operations } = await scene.over(binding);
    const before = Date.now();
    await operations.sendMessage(say("end"), withTimeout({ timeoutMs: hourMs }));
    // The gateway counts what is left when it calls, and the header rounds up.
    expect(deadlines[0]).toBeGreaterThan(before);
    expect(deadlines[0]).toBeLessThanOrEqual(Date.now() + hourMs);
    expect((await errorOf(operations.sendMessage(say("wait"), withTimeout({ timeoutMs: 500 })))).code).toBe(
      "deadlineExceeded",
    );
    expect(await aborted).toBe("DeadlineExceeded");
  });
});

it.each(bindings)("the time that a caller has spent before the gateway calls is gone, over %s", async (binding) => {
  const { agent, deadlines } = patient();
  let startedAt = 0;
  const authenticate = async () => {
    startedAt = Date.now();
    while (Date.now() < startedAt + 400) await new Promise((resolve) => setTimeout(resolve, 10));
    return { owner: "ada" };
  };
  await using scene = await startScene({ agent, gateway: { authenticate } });
  const { operations } = await scene.over(binding);
  await operations.sendMessage(say("end"), withTimeout({ timeoutMs: hourMs }));
  // The header rounds up, and the way to the agent takes some time.
  expect(deadlines[0]).toBeLessThan(startedAt + hourMs + 300);
});

it("a caller without a deadline has none behind the gateway either, unless the gateway limits its calls", async () => {
  const { agent, deadlines } = patient();
  await using open = await startScene({ agent });
  const task = taskOf(await (await open.over("JSONRPC")).operations.sendMessage(say("end"), {}));
  expect(stateOf(task)).toBe("COMPLETED");
  await using limited = await startScene({ agent, gateway: { client: { timeoutMs: 60_000 } } });
  const { operations } = await limited.over("JSONRPC");
  for (const options of [{}, withTimeout({ timeoutMs: hourMs })]) await operations.sendMessage(say("end"), options);
  expect(deadlines[0]).toBeUndefined();
  for (const deadline of deadlines.slice(1)) expect(deadline).toBeLessThanOrEqual(Date.now() + 60_000);
  expect(deadlines).toHaveLength(3);
});
