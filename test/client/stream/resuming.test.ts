import { describe, expect, it } from "vitest";
import { emptyTask } from "../../../src/protocol/fold.js";
import { type Habits, jsonBindings } from "./resuming-agent.js";
import { chunk, messageEvent, status } from "./resuming-events.js";
import { begunScene, sceneOf } from "./resuming-scene.js";

// Streams from agents that cannot resume after an event.

describe.each(jsonBindings)("over %s", (binding) => {
  const openScene = (habits: Habits, open: Parameters<typeof sceneOf>[2]) => sceneOf(binding, habits, open);
  const beginScene = (habits?: Habits) => begunScene(binding, habits);

  it("a broken stream resumes with the missed changes, then with new events", async () => {
    await using scene = await beginScene();
    const { agent, stream } = scene;
    agent.cut();
    await agent.opened(0);
    agent.emit(chunk("two "), chunk("three"), status("INPUT_REQUIRED", "which?"));
    expect(await stream.next()).toBe('difference: artifact a "two three" append');
    expect(await stream.next()).toBe("difference: status INPUT_REQUIRED");
    expect(await stream.rest()).toEqual([]);
    expect(agent.calls).toEqual(["sendStreamingMessage", "subscribeToTask"]);
    await agent.opened(0);
  });

  it("a stream that missed no event hides its break", async () => {
    await using scene = await beginScene();
    const { agent, stream } = scene;
    agent.cut();
    const next = stream.next();
    await agent.until(() => agent.calls.length === 2);
    await agent.opened(1);
    agent.emit(chunk("two"), status("COMPLETED"));
    expect(await next).toBe('artifact a "two" append');
    expect(await stream.next()).toBe("status COMPLETED");
    expect(await stream.rest()).toEqual([]);
  });

  it.each(["unsupportedOperation", "taskNotFound", "invalidParams", "internalError"] as const)(
    "a task that has ended after a break is read, where its subscription is refused: %s",
    async (refusal) => {
      await using scene = await beginScene({ refusal });
      const { agent, stream } = scene;
      agent.cut();
      await agent.opened(0);
      agent.emit(chunk("two"), status("COMPLETED"));
      expect(await stream.rest()).toEqual(['difference: artifact a "two" append', "difference: status COMPLETED"]);
      // Over HTTP+JSON, 404 may also mean the wrong verb, so the client asks twice.
      const isAskedTwice = binding === "HTTP+JSON" && refusal === "taskNotFound";
      const subscriptions = isAskedTwice ? ["subscribeToTask", "subscribeToTask"] : ["subscribeToTask"];
      expect(agent.calls).toEqual(["sendStreamingMessage", ...subscriptions, "getTask"]);
    },
  );

  it("a task is polled if every subscription is refused", async () => {
    await using scene = await beginScene({ refusesAll: true });
    const { agent, stream } = scene;
    agent.cut();
    await agent.opened(0);
    agent.emit(chunk("two "));
    expect(await stream.next()).toBe('difference: artifact a "two " append');
    const next = stream.next();
    const callCount = agent.calls.length;
    await agent.until(() => agent.calls.length >= callCount + 3);
    agent.emit(chunk("three"));
    expect(await next).toBe('difference: artifact a "three" append');
    agent.emit(status("COMPLETED"));
    expect(await stream.rest()).toEqual(["difference: status COMPLETED"]);
  });

  it("a subscription that does not begin with the task is not trusted", async () => {
    await using scene = await beginScene({ subscription: "nothing" });
    const { agent, stream } = scene;
    agent.cut();
    await agent.opened(0);
    agent.emit(chunk("two "));
    const next = stream.next();
    await agent.opened(1);
    agent.emit(chunk("three "));
    expect(await next).toBe('difference: artifact a "two three " append');
    agent.emit(chunk("four"), status("COMPLETED"));
    expect((await stream.rest()).at(-1)).toBe("difference: status COMPLETED");
    expect(agent.calls.filter((name) => name === "subscribeToTask")).toHaveLength(1);
    await agent.opened(0);
  });

  it("an agent that ends the stream before the task ends is asked for the rest", async () => {
    await using scene = await beginScene();
    const { agent, stream } = scene;
    agent.endStreams();
    await agent.opened(0);
    agent.emit(chunk("two"));
    expect(await stream.next()).toBe('difference: artifact a "two" append');
    agent.emit(status("COMPLETED"));
    agent.endStreams();
    expect(await stream.rest()).toEqual(["status COMPLETED"]);
  });

  it("a task that is replaced during a break is yielded whole", async () => {
    await using scene = await beginScene();
    const { agent, stream } = scene;
    agent.cut();
    await agent.opened(0);
    agent.emit(chunk("another", false));
    expect(await stream.next()).toBe("resync: task WORKING");
    agent.cut();
    await agent.opened(0);
    agent.emit(chunk(" text"));
    expect(await stream.next()).toBe('difference: artifact a " text" append');
    agent.emit(status("COMPLETED"));
    agent.endStreams();
    expect((await stream.rest()).at(-1)).toMatch(/status COMPLETED$/);
  });

  it("a subscription without any event is followed by a read of the task", async () => {
    await using scene = await openScene({ subscription: "nothing" }, (client) => client.watch("t"));
    const { agent, stream } = scene;
    const first = stream.next();
    await agent.opened(1);
    agent.endStreams();
    expect(await first).toBe("task SUBMITTED");
    agent.emit(status("COMPLETED"));
    expect(await stream.rest()).toEqual(["difference: status COMPLETED"]);
  });

  it("a send that ends without an event is an error", async () => {
    await using scene = await openScene({}, (client) => client.stream("go"));
    const { agent, stream } = scene;
    const first = stream.next();
    await agent.opened(1);
    agent.endStreams();
    await expect(first).rejects.toMatchObject({ code: "unavailable", written: true });
    expect(await stream.rest()).toEqual([]);
    expect(agent.calls).toEqual(["sendStreamingMessage"]);
  });

  it("a task that is unknown after a break is an error", async () => {
    await using scene = await beginScene();
    const { agent, stream } = scene;
    agent.cut();
    await agent.opened(0);
    agent.task = emptyTask("other", "c");
    await expect(stream.next()).rejects.toMatchObject({ code: "taskNotFound" });
    expect(await stream.rest()).toEqual([]);
  });

  it.each([true, false])(
    "a message is the whole result, even if the connection breaks after it: %s",
    async (breaks) => {
      await using scene = await openScene({}, (client) => client.stream("go"));
      const { agent, stream } = scene;
      const first = stream.next();
      await agent.opened(1);
      agent.emit(messageEvent("hi"));
      expect(await first).toBe('message "hi"');
      if (breaks) agent.cut();
      else agent.endStreams();
      expect(await stream.rest()).toEqual([]);
      expect(agent.calls).toEqual(["sendStreamingMessage"]);
    },
  );

  it("events reach the caller even if the agent ends them by breaking the connection", async () => {
    await using scene = await beginScene();
    const { agent, stream } = scene;
    agent.emit(status("COMPLETED"));
    expect(await stream.next()).toBe("status COMPLETED");
    agent.cut();
    expect(await stream.rest()).toEqual([]);
    expect(agent.calls).toEqual(["sendStreamingMessage"]);
  });
});
