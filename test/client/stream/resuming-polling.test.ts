import { describe, expect, it } from "vitest";
import { answerOf } from "../../../src/client/answer/answer.js";
import { createVirtualClock } from "../../support/virtual-clock.js";
import { foreignAgent, type Habits, jsonBindings } from "./resuming-agent.js";
import { chunk, lineReaderOf, messageEvent, status } from "./resuming-events.js";
import { sceneOf, waiting } from "./resuming-scene.js";

describe.each(jsonBindings)("over %s, of an agent that cannot stream,", (binding) => {
  const openScene = (habits: Habits, open: Parameters<typeof sceneOf>[2]) => sceneOf(binding, habits, open);

  it("a send to an agent that cannot stream is answered at once and its task asked for from then on", async () => {
    await using scene = await openScene({ streams: false }, (client) => client.stream("go"));
    const { agent, stream } = scene;
    expect(await stream.next()).toBe("task SUBMITTED");
    agent.emit(status("WORKING"), chunk("one ", false));
    expect([await stream.next(), await stream.next()]).toEqual([
      'difference: artifact a "one "',
      "difference: status WORKING",
    ]);
    agent.emit(chunk("two"), status("COMPLETED"));
    expect(await stream.rest()).toEqual(['difference: artifact a "two" append', "difference: status COMPLETED"]);
    expect(new Set(agent.calls)).toEqual(new Set(["sendMessage", "getTask"]));
  });

  it("a message of an agent that cannot stream is the whole answer", async () => {
    await using scene = await openScene({ streams: false }, (client) => client.stream("go"));
    const { agent, stream } = scene;
    const { payload } = messageEvent("hi");
    if (payload.case === "message") agent.reply = payload.value;
    expect(await stream.rest()).toEqual(['message "hi"']);
    expect(agent.calls).toEqual(["sendMessage"]);
  });

  it("an answer of an agent that cannot stream that is a question again ends the stream", async () => {
    const habits = { streams: false, task: waiting };
    await using scene = await openScene(habits, (client) => client.stream("answer", { continue: answerOf(waiting) }));
    expect(await scene.stream.rest()).toEqual(["task INPUT_REQUIRED"]);
  });

  it("a subscription to an agent that cannot stream begins with the task and continues after a question", async () => {
    const habits = { streams: false, task: waiting };
    await using scene = await openScene(habits, (client) => client.watch("t"));
    const { agent, stream } = scene;
    expect(await stream.next()).toBe("task INPUT_REQUIRED");
    const next = stream.next();
    await agent.until(() => agent.calls.length > 3);
    agent.emit(status("COMPLETED"));
    expect(await next).toBe("difference: status COMPLETED");
    expect(await stream.rest()).toEqual([]);
  });

  it("a connection that breaks between two polls does no harm", async () => {
    await using scene = await openScene({ streams: false }, (client) => client.stream("go"));
    const { agent, stream } = scene;
    expect(await stream.next()).toBe("task SUBMITTED");
    const next = stream.next();
    for (let count = 3; count < 12; count += 3) {
      await agent.until(() => agent.calls.length >= count);
      agent.cut();
    }
    agent.emit(status("COMPLETED"));
    expect(await next).toBe("difference: status COMPLETED");
  });
});

it("polling asks less and less often for a task that does not move", async () => {
  const clock = createVirtualClock();
  await using agent = await foreignAgent({ streams: false });
  await using client = await agent.connect("JSONRPC", { clock, limits: { pollMs: 100 } });
  const stream = lineReaderOf(client.stream("go"));
  expect(await stream.next()).toBe("task SUBMITTED");
  const next = stream.next();
  const pauses: number[] = [];
  for (let callCount = 1; callCount <= 8; callCount++) {
    for (let due = clock.pending()[0]; ; due = clock.pending()[0]) {
      if (due === undefined) await new Promise((resolve) => setImmediate(resolve));
      else {
        pauses.push(due - clock.now());
        await clock.advance(due - clock.now());
        break;
      }
    }
    await agent.until(() => agent.calls.length > callCount);
  }
  expect(pauses.map(Math.round)).toEqual([100, 150, 225, 338, 506, 759, 1000, 1000]);
  await stream.leave();
  expect(await next).toBe("end");
  expect(clock.pending()).toEqual([]);
});
