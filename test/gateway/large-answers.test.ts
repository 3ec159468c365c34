import type { Binding } from "trivium";
import { describe, expect, it } from "vitest";
import { errorOf, requestOf, say, taskOf } from "../support/say.js";
import { bindings, type SceneOptions, startScene } from "./scene.js";

// The caller of a gateway did nothing wrong when the agent's answer is too large for the gateway.

const limits = { replyMaxBytes: 100_000 };
const behind = (spoken: Binding): SceneOptions => ({
  behind: { bindings: [spoken], versions: ["1.0"] },
  gateway: { versions: ["1.0"], client: { limits } },
});
const large = "x".repeat(200_000);

describe.each(bindings)("an answer over the gateway's limit, from an agent that speaks %s", (spoken) => {
  it.each(bindings)("an answer over the gateway's limit is a bad answer to a caller over %s", async (binding) => {
    await using scene = await startScene(behind(spoken));
    const { operations } = await scene.over(binding);
    const error = await errorOf(operations.sendMessage(say(`say ${large}`), {}));
    expect([error.code, error.message]).toEqual([
      "invalidAgentResponse",
      "the answer of the agent behind the gateway is over the gateway's limit (replyMaxBytes)",
    ]);
    // The gateway goes on.
    expect(taskOf(await operations.sendMessage(say("echo small"), {})).id).not.toBe("");
  });

  it("an answer over the gateway's limit is a bad one in a stream as well", async () => {
    await using scene = await startScene(behind(spoken));
    const { operations } = await scene.over("JSONRPC");
    const task = taskOf(await operations.sendMessage(say("echo small"), {}));
    const stream = operations.sendStreamingMessage(say(`echo ${large}`), {});
    expect(await errorOf(stream)).toMatchObject({ code: "invalidAgentResponse" });
    expect((await operations.getTask(requestOf("getTask", { id: task.id }), {})).id).toBe(task.id);
  });
});
