import { describe, expect, it } from "vitest";
import type { Client } from "../../src/client/node.js";
import { emptyTask } from "../../src/protocol/fold.js";
import { type Task, TaskState } from "../../src/protocol/model.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import {
  chunk,
  type ForeignAgent,
  foreignAgent,
  type Habits,
  jsonBindings,
  messageEvent,
  status,
  type Told,
  taskEvent,
  told,
} from "./lasting-agent.js";

// Streams from agents that do not go on behind an event.

interface Scene extends AsyncDisposable {
  readonly agent: ForeignAgent;
  readonly client: Client;
  readonly stream: Told;
}

describe.each(jsonBindings)("over %s", (binding) => {
  async function scene(habits: Habits, open: (client: Client) => ReturnType<Client["stream"]>): Promise<Scene> {
    const agent = await foreignAgent(habits);
    const client = await agent.connect(binding, { limits: { pollMs: 1 } });
    return {
      agent,
      client,
      stream: told(open(client)),
      async [Symbol.asyncDispose]() {
        await client.close();
        await agent[Symbol.asyncDispose]();
      },
    };
  }

  /** A stream of a send that has told the task and half of an artifact. */
  async function begun(habits: Habits = {}): Promise<Scene> {
    const made = await scene(habits, (client) => client.stream("go"));
    const { agent, stream } = made;
    const first = stream.next();
    await agent.opened(1);
    agent.emit(taskEvent(emptyTask("t", "c")), status("WORKING"), chunk("one ", false));
    expect(await first).toBe("task SUBMITTED");
    expect([await stream.next(), await stream.next()]).toEqual(["status WORKING", 'artifact a "one "']);
    return made;
  }

  it("a broken stream goes on with what the task has more, and then with what comes", async () => {
    await using scene = await begun();
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

  it("a stream that has missed nothing says nothing of its break", async () => {
    await using scene = await begun();
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
    "a task that has ended meanwhile is read, where its subscription is refused: %s",
    async (refusal) => {
      await using scene = await begun({ refusal });
      const { agent, stream } = scene;
      agent.cut();
      await agent.opened(0);
      agent.emit(chunk("two"), status("COMPLETED"));
      expect(await stream.rest()).toEqual(['difference: artifact a "two" append', "difference: status COMPLETED"]);
      expect(agent.calls).toEqual(["sendStreamingMessage", "subscribeToTask", "getTask"]);
    },
  );

  it("a task is asked for again and again, where every subscription is refused", async () => {
    await using scene = await begun({ refusesAll: true });
    const { agent, stream } = scene;
    agent.cut();
    await agent.opened(0);
    agent.emit(chunk("two "));
    expect(await stream.next()).toBe('difference: artifact a "two " append');
    const next = stream.next();
    const asked = agent.calls.length;
    await agent.until(() => agent.calls.length >= asked + 3);
    agent.emit(chunk("three"));
    expect(await next).toBe('difference: artifact a "three" append');
    agent.emit(status("COMPLETED"));
    expect(await stream.rest()).toEqual(["difference: status COMPLETED"]);
  });

  it("a subscription that does not begin with the task is not trusted", async () => {
    await using scene = await begun({ subscription: "nothing" });
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

  it("an agent that ends the stream before the task is asked how that goes on", async () => {
    await using scene = await begun();
    const { agent, stream } = scene;
    agent.endStreams();
    await agent.opened(0);
    agent.emit(chunk("two"));
    expect(await stream.next()).toBe('difference: artifact a "two" append');
    agent.emit(status("COMPLETED"));
    agent.endStreams();
    expect(await stream.rest()).toEqual(["status COMPLETED"]);
  });

  it("a task that was replaced meanwhile is told whole", async () => {
    await using scene = await begun();
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

  it("a stream that ends at a state that waits for the caller is over", async () => {
    await using scene = await begun();
    const { agent, stream } = scene;
    agent.emit(status("AUTH_REQUIRED"));
    agent.endStreams();
    expect(await stream.rest()).toEqual(["status AUTH_REQUIRED"]);
    expect(agent.calls).toEqual(["sendStreamingMessage"]);
  });

  it("a stream that breaks while it waits for an authorization goes on", async () => {
    await using scene = await begun();
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

  it("a send that breaks behind its question is over", async () => {
    await using scene = await begun();
    const { agent, stream } = scene;
    agent.emit(status("INPUT_REQUIRED"));
    expect(await stream.next()).toBe("status INPUT_REQUIRED");
    agent.cut();
    expect(await stream.rest()).toEqual([]);
    expect(agent.calls).toEqual(["sendStreamingMessage"]);
  });

  const waiting: Task = {
    ...emptyTask("t", "c"),
    status: { $typeName: "lf.a2a.v1.TaskStatus", state: TaskState.INPUT_REQUIRED },
  };

  it("an answer to a question goes on when it breaks behind the old state", async () => {
    await using made = await scene({ task: waiting }, (client) => client.stream("answer", { task: waiting }));
    const { agent, stream } = made;
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

  it("a subscription goes on behind a question", async () => {
    await using made = await scene({ task: waiting }, (client) => client.subscribeToTask({ id: "t" }));
    const { agent, stream } = made;
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

  it("a subscription that says nothing at all is followed by a question for the task", async () => {
    await using made = await scene({ subscription: "nothing" }, (client) => client.subscribeToTask({ id: "t" }));
    const { agent, stream } = made;
    const first = stream.next();
    await agent.opened(1);
    agent.endStreams();
    expect(await first).toBe("task SUBMITTED");
    agent.emit(status("COMPLETED"));
    expect(await stream.rest()).toEqual(["difference: status COMPLETED"]);
  });

  it("a send that ends without an event is an error", async () => {
    await using made = await scene({}, (client) => client.stream("go"));
    const { agent, stream } = made;
    const first = stream.next();
    await agent.opened(1);
    agent.endStreams();
    await expect(first).rejects.toMatchObject({ code: "unavailable", written: true });
    expect(await stream.rest()).toEqual([]);
    expect(agent.calls).toEqual(["sendStreamingMessage"]);
  });

  it("a task that is unknown after a break is an error", async () => {
    await using scene = await begun();
    const { agent, stream } = scene;
    agent.cut();
    await agent.opened(0);
    agent.task = emptyTask("other", "c");
    await expect(stream.next()).rejects.toMatchObject({ code: "taskNotFound" });
    expect(await stream.rest()).toEqual([]);
  });

  it.each([true, false])("a message is all there is, also when the connection breaks behind it: %s", async (breaks) => {
    await using made = await scene({}, (client) => client.stream("go"));
    const { agent, stream } = made;
    const first = stream.next();
    await agent.opened(1);
    agent.emit(messageEvent("hi"));
    expect(await first).toBe('message "hi"');
    if (breaks) agent.cut();
    else agent.endStreams();
    expect(await stream.rest()).toEqual([]);
    expect(agent.calls).toEqual(["sendStreamingMessage"]);
  });

  it("events are told on when the agent ends them with a broken connection", async () => {
    await using scene = await begun();
    const { agent, stream } = scene;
    agent.emit(status("COMPLETED"));
    expect(await stream.next()).toBe("status COMPLETED");
    agent.cut();
    expect(await stream.rest()).toEqual([]);
    expect(agent.calls).toEqual(["sendStreamingMessage"]);
  });

  describe("of an agent that cannot stream", () => {
    it("a send is answered at once and its task asked for from then on", async () => {
      await using made = await scene({ streams: false }, (client) => client.stream("go"));
      const { agent, stream } = made;
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

    it("a message is the whole answer", async () => {
      await using made = await scene({ streams: false }, (client) => client.stream("go"));
      const { agent, stream } = made;
      const { payload } = messageEvent("hi");
      if (payload.case === "message") agent.reply = payload.value;
      expect(await stream.rest()).toEqual(['message "hi"']);
      expect(agent.calls).toEqual(["sendMessage"]);
    });

    it("an answer that is a question again ends the stream", async () => {
      const habits = { streams: false, task: waiting };
      await using made = await scene(habits, (client) => client.stream("answer", { task: waiting }));
      expect(await made.stream.rest()).toEqual(["task INPUT_REQUIRED"]);
    });

    it("a subscription begins with the task and goes on behind a question", async () => {
      const habits = { streams: false, task: waiting };
      await using made = await scene(habits, (client) => client.subscribeToTask({ id: "t" }));
      const { agent, stream } = made;
      expect(await stream.next()).toBe("task INPUT_REQUIRED");
      const next = stream.next();
      await agent.until(() => agent.calls.length > 3);
      agent.emit(status("COMPLETED"));
      expect(await next).toBe("difference: status COMPLETED");
      expect(await stream.rest()).toEqual([]);
    });

    it("a connection that breaks between two questions does no harm", async () => {
      await using made = await scene({ streams: false }, (client) => client.stream("go"));
      const { agent, stream } = made;
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
});

it("asks less and less often for a task that does not move", async () => {
  const clock = createVirtualClock();
  await using agent = await foreignAgent({ streams: false });
  await using client = await agent.connect("JSONRPC", { clock, limits: { pollMs: 100 } });
  const stream = told(client.stream("go"));
  expect(await stream.next()).toBe("task SUBMITTED");
  const next = stream.next();
  const pauses: number[] = [];
  for (let asked = 1; asked <= 8; asked++) {
    for (let due = clock.pending()[0]; ; due = clock.pending()[0]) {
      if (due === undefined) await new Promise((resolve) => setImmediate(resolve));
      else {
        pauses.push(due - clock.now());
        await clock.advance(due - clock.now());
        break;
      }
    }
    await agent.until(() => agent.calls.length > asked);
  }
  expect(pauses.map(Math.round)).toEqual([100, 150, 225, 338, 506, 759, 1000, 1000]);
  await stream.leave();
  expect(await next).toBe("end");
  expect(clock.pending()).toEqual([]);
});
