import { describe, expect, it } from "vitest";
import { answerOf } from "../../../src/client/answer/answer.js";
import { type Habits, jsonBindings } from "./resuming-agent.js";
import { status, taskEvent } from "./resuming-events.js";
import { begunScene, sceneOf, waiting } from "./resuming-scene.js";

// Streams of tasks that wait for their caller.

describe.each(jsonBindings)("over %s", (binding) => {
  const openScene = (habits: Habits, open: Parameters<typeof sceneOf>[2]) => sceneOf(binding, habits, open);
  const beginScene = (habits?: Habits) => begunScene(binding, habits);

  it("a stream that ends at a state that waits for the caller is over", async () => {
    await using scene = await beginScene();
    const { agent, stream } = scene;
    agent.emit(status("AUTH_REQUIRED"));
    agent.endStreams();
    expect(await stream.rest()).toEqual(["status AUTH_REQUIRED"]);
    expect(agent.calls).toEqual(["sendStreamingMessage"]);
  });

  it("a stream that breaks while it waits for authorization resumes", async () => {
    await using scene = await beginScene();
    const { agent, stream } = scene;
    agent.emit(status("AUTH_REQUIRED"));
    expect(await stream.next()).toBe("status AUTH_REQUIRED");
    agent.cut();
    const next = stream.next();
    await agent.until(() => agent.calls.length === 2);
    await agent.opened(1);
    agent.emit(status("WORKING"), status("COMPLETED"));
    agent.endStreams();
    expect([await next, ...(await stream.rest())]).toEqual(["status WORKING", "status COMPLETED"]);
  });

  it("a send that breaks after its question is over", async () => {
    await using scene = await beginScene();
    const { agent, stream } = scene;
    agent.emit(status("INPUT_REQUIRED"));
    expect(await stream.next()).toBe("status INPUT_REQUIRED");
    agent.cut();
    expect(await stream.rest()).toEqual([]);
    expect(agent.calls).toEqual(["sendStreamingMessage"]);
  });

  it("an answer to a question resumes when its stream breaks after the old state", async () => {
    await using scene = await openScene({ task: waiting }, (client) =>
      client.stream("answer", { continue: answerOf(waiting) }),
    );
    const { agent, stream } = scene;
    const first = stream.next();
    await agent.opened(1);
    agent.emit(taskEvent(agent.task));
    expect(await first).toBe("task INPUT_REQUIRED");
    agent.cut();
    const next = stream.next();
    await agent.until(() => agent.calls.includes("subscribeToTask"));
    await agent.opened(1);
    agent.emit(status("WORKING"), status("INPUT_REQUIRED"));
    expect(await next).toBe("status WORKING");
    expect(await stream.rest()).toEqual(["status INPUT_REQUIRED"]);
  });

  it("a subscription continues after the agent asks for input", async () => {
    await using scene = await openScene({ task: waiting }, (client) => client.watch("t"));
    const { agent, stream } = scene;
    expect(await stream.next()).toBe("task INPUT_REQUIRED");
    agent.cut();
    const next = stream.next();
    await agent.until(() => agent.calls.length === 2);
    await agent.opened(1);
    agent.emit(status("WORKING"), status("INPUT_REQUIRED"));
    expect([await next, await stream.next()]).toEqual(["status WORKING", "status INPUT_REQUIRED"]);
    agent.endStreams();
    expect(await stream.rest()).toEqual([]);
  });
});
