import { describe, expect, it } from "vitest";
import { Client } from "../../../src/client/node.js";
import { emptyTask } from "../../../src/protocol/fold.js";
import { createVirtualClock, turnUntil } from "../../support/virtual-clock.js";
import { foreignAgent, jsonBindings } from "./resuming-agent.js";
import { chunk, lineReaderOf, status, taskEvent } from "./resuming-events.js";
import { sceneOf } from "./resuming-scene.js";

// Agents that send subscribers only later events and not the current task, as most did before 1.0.

describe.each(jsonBindings)("over %s, a subscription that does not begin with the task", (binding) => {
  it("a subscription that does not begin with the task gets it anyway, and each of its pieces once", async () => {
    await using scene = await sceneOf(binding, { subscription: "nothing" }, (client) => client.watch("t"));
    const { agent, stream } = scene;
    agent.emit(status("WORKING"), chunk("one ", false));
    const first = stream.next();
    await agent.opened(1);
    agent.emit(chunk("two "));
    expect(await first).toBe("task WORKING");
    agent.emit(chunk("three"), status("COMPLETED"));
    expect(await stream.rest()).toEqual(['difference: artifact a "three" append', "difference: status COMPLETED"]);
    expect(agent.open).toBe(0);
  });

  it("a subscription that does not begin with the task is left when nothing happens to the task", async () => {
    const clock = createVirtualClock();
    await using agent = await foreignAgent({ subscription: "nothing" });
    await using client = await agent.connect(binding, { clock }, Client);
    agent.emit(status("WORKING"));
    const stream = lineReaderOf(client.watch("t"));
    const first = stream.next();
    await agent.opened(1);
    await turnUntil(clock, first.then(ignore, ignore));
    expect(await first).toBe("task WORKING");
    expect(agent.calls.slice(-2)).toEqual(["subscribeToTask", "getTask"]);
    agent.emit(status("COMPLETED"));
    const rest = stream.rest();
    await turnUntil(clock, rest.then(ignore, ignore));
    expect(await rest).toEqual(["difference: status COMPLETED"]);
  });

  it("a subscription that does not begin with the task is waited for to the whole task", async () => {
    await using scene = await sceneOf(binding, { subscription: "nothing" }, (client) => client.stream("go"));
    const { agent, client } = scene;
    agent.emit(status("WORKING"), chunk("one ", false));
    const waiting = client.wait("t");
    await agent.opened(1);
    agent.emit(chunk("two"), status("COMPLETED"));
    expect((await waiting).text).toBe("one two");
  });
});

describe.each(jsonBindings)("over %s, a task whose state the agent no longer knows", (binding) => {
  it("a task whose state the agent no longer knows ends its stream, and no wait", async () => {
    const habits = { streams: false, task: emptyTask("t", "c") };
    await using scene = await sceneOf(binding, habits, (client) => client.stream("go"));
    const { agent, client, stream } = scene;
    expect(await stream.next()).toBe("task SUBMITTED");
    agent.emit(status("UNSPECIFIED"));
    expect(await stream.rest()).toEqual(["difference: status UNSPECIFIED"]);
    const waiting = client.wait("t");
    const calls = agent.calls.length;
    await agent.until(() => agent.calls.length > calls + 4);
    agent.emit(status("COMPLETED"));
    expect((await waiting).state).toBe("completed");
  });

  it("a task whose state the agent no longer knows ends a stream where the agent does", async () => {
    await using scene = await sceneOf(binding, {}, (client) => client.stream("go"));
    const { agent, stream } = scene;
    const first = stream.next();
    await agent.opened(1);
    agent.emit(taskEvent(emptyTask("t", "c")), status("UNSPECIFIED"));
    agent.endStreams();
    expect(await first).toBe("task SUBMITTED");
    expect(await stream.rest()).toEqual(["status UNSPECIFIED"]);
    expect(agent.calls).toEqual(["sendStreamingMessage"]);
  });
});

function ignore(): void {}
