import { describe, expect, it } from "vitest";
import { emptyTask } from "../../../src/protocol/fold.js";
import { jsonBindings } from "./resuming-agent.js";
import { chunk, messageEvent, status, taskEvent } from "./resuming-events.js";
import { sceneOf, waiting } from "./resuming-scene.js";

// Agents that leave a stream open behind the last event of the answer, as Java's SDK does after INPUT_REQUIRED.

describe.each(jsonBindings)("over %s, a stream that its agent leaves open", (binding) => {
  it.each([
    ["a direct message", [messageEvent("done")], ['message "done"']],
    ["a question", [taskEvent(emptyTask("t", "c")), status("INPUT_REQUIRED", "which?")], undefined],
    ["the end of the task", [taskEvent(emptyTask("t", "c")), chunk("x", false), status("COMPLETED")], undefined],
    ["a failure", [taskEvent(emptyTask("t", "c")), status("FAILED")], undefined],
  ] as const)(
    "a stream that its agent leaves open ends with %s, and its connection is let go",
    async (_, events, lines) => {
      await using scene = await sceneOf(binding, {}, (client) => client.stream("go"));
      const { agent, stream } = scene;
      const first = stream.next();
      await agent.opened(1);
      agent.tell(...events);
      const all = [await first, ...(await stream.rest())];
      expect(all).toHaveLength(events.length);
      if (lines !== undefined) expect(all).toEqual(lines);
      await agent.opened(0);
    },
  );

  it("a subscription that its agent leaves open ends with the task, and not with a question", async () => {
    await using scene = await sceneOf(binding, {}, (client) => client.watch("t"));
    const { agent, stream } = scene;
    const first = stream.next();
    await agent.opened(1);
    expect(await first).toBe("task SUBMITTED");
    agent.emit(status("INPUT_REQUIRED"), status("WORKING"), status("COMPLETED"));
    expect(await stream.rest()).toEqual(["status INPUT_REQUIRED", "status WORKING", "status COMPLETED"]);
    await agent.opened(0);
  });

  it("a stream left open does not end with the question it answers, nor with an authorization", async () => {
    const habits = { task: waiting };
    await using scene = await sceneOf(binding, habits, (client) =>
      client.stream("Tuesday", { continue: { taskId: "t", contextId: "c" } }),
    );
    const { agent, stream } = scene;
    const first = stream.next();
    await agent.opened(1);
    agent.tell(taskEvent(waiting));
    expect(await first).toBe("task INPUT_REQUIRED");
    agent.emit(status("WORKING"), status("AUTH_REQUIRED"), status("INPUT_REQUIRED"));
    expect(await stream.rest()).toEqual(["status WORKING", "status AUTH_REQUIRED", "status INPUT_REQUIRED"]);
    await agent.opened(0);
  });

  it("a stream left open gives the artifacts of a task that completed without streaming them", async () => {
    await using scene = await sceneOf(binding, {}, (client) => client.stream("go"));
    const { agent, stream } = scene;
    const first = stream.next();
    await agent.opened(1);
    agent.emit(taskEvent(emptyTask("t", "c")));
    agent.keep(chunk("the result", false));
    agent.emit(status("COMPLETED"));
    expect([await first, ...(await stream.rest())]).toEqual([
      "task SUBMITTED",
      "status COMPLETED",
      "resync: task COMPLETED",
    ]);
    expect(agent.calls).toEqual(["sendStreamingMessage", "getTask"]);
  });
});
