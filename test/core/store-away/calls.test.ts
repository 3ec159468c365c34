import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { PushStore, TaskStore } from "../../../src/core/ports.js";
import { completed, inputRequired, reply } from "../../../src/protocol/events.js";
import type { OperationName } from "../../../src/protocol/operations.js";
import { memoryPushStore } from "../../../src/store/memory/push-store.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { around } from "../../support/fault-store.js";
import { contextOf, startHandler } from "../../support/handler.js";
import { errorOf, requestOf, stateOf, taskOf, textIn } from "../../support/say.js";
import { storeLine } from "../../support/store-line.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

// What a caller waits for when a store takes calls and does not answer, before the process knows that it is away.

const storeWaitMs = 2000;
const refused = { code: "unavailable", retryAfterMs: 1000 };

/** Remembers, and answers by what it remembers. */
const agent: Agent = async ({ text, conversation, context }) => {
  if (text === "remember") return reply(`${(await conversation()).length}`);
  if (text === "add") return reply(String(await context.update("count", (count) => Number(count ?? 0) + 1)));
  if (text === "count") return reply(String(await context.get("count")));
  return inputRequired("more?");
};

async function start(options: { readonly tasksPerOwner?: number } = {}) {
  const clock = createVirtualClock();
  const line = storeLine<TaskStore>(memoryTaskStore({ clock }));
  const pushLine = storeLine<PushStore>(memoryPushStore());
  const served = startHandler({
    agent,
    clock,
    store: line.store,
    limits: options,
    push: { store: pushLine.store, check: () => [], added: () => {}, removed: () => {} },
  });
  const { id: taskId } = taskOf(await served.send("go"));
  await settle();
  // The next heartbeat is further away than `storeWaitMs`.
  await clock.advance(3010);
  return { ...served, line, pushLine, taskId };
}

type Scene = Awaited<ReturnType<typeof start>>;

const operation =
  (
    name: Exclude<OperationName, "sendMessage" | "sendStreamingMessage" | "getExtendedAgentCard">,
    fields: object = {},
  ) =>
  ({ operations, taskId }: Scene): Promise<unknown> | AsyncIterable<unknown> => {
    const isOfPush = name.includes("PushNotification");
    const ids = { ...(name === "listTasks" ? {} : isOfPush ? { taskId } : { id: taskId }), ...fields };
    const call = operations[name] as (request: object, context: object) => Promise<unknown> | AsyncIterable<unknown>;
    return call(requestOf(name, ids), contextOf());
  };

const calls: Record<string, (scene: Scene) => Promise<unknown> | AsyncIterable<unknown>> = {
  GetTask: operation("getTask"),
  ListTasks: operation("listTasks"),
  CancelTask: operation("cancelTask"),
  SubscribeToTask: operation("subscribeToTask"),
  CreateTaskPushNotificationConfig: operation("createTaskPushNotificationConfig", { url: "https://example.com" }),
  GetTaskPushNotificationConfig: operation("getTaskPushNotificationConfig", { id: "one" }),
  ListTaskPushNotificationConfigs: operation("listTaskPushNotificationConfigs"),
  DeleteTaskPushNotificationConfig: operation("deleteTaskPushNotificationConfig", { id: "one" }),
  "a send": ({ send }) => send("go"),
  "a streaming send": ({ stream }) => stream("go"),
  "a follow-up": ({ send, taskId }) => send("more", { taskId }),
  "a send with a push configuration": ({ send, taskId }) =>
    send("more", { taskId, configuration: { taskPushNotificationConfig: { url: "https://example.com" } } }),
  "a send whose agent reads the conversation": ({ send }) => send("remember"),
  "a send whose agent reads the state of its context": ({ send }) => send("count"),
  "a send whose agent changes the state of its context": ({ send }) => send("add"),
  "a send to a named task": ({ send }) => send("go", { taskId: "name" }, { namesTasks: true, version: "an old one" }),
  "wake()": ({ handler, taskId }) => handler.wake({ tenant: "", owner: "alice" }, taskId),
  "deleteConversation()": ({ handler }) => handler.deleteConversation({ tenant: "", owner: "alice" }, "context"),
};

/** The methods of the store that a call uses. Once it has created a task, its turn writes with more patience. */
async function methodsOf(make: (typeof calls)[string]): Promise<readonly (keyof TaskStore)[]> {
  await using scene = await start();
  const { length } = scene.line.calls;
  const outcome = outcomeOf(make(scene));
  await scene.clock.advance(100);
  await outcome();
  const methods = [...new Set(scene.line.calls.slice(length))] as (keyof TaskStore)[];
  return methods.includes("create") ? methods.filter((method) => method !== "append") : methods;
}

/** What has become of a call, a stream up to its first item, when the returned function is called. */
function outcomeOf(call: Promise<unknown> | AsyncIterable<unknown>): () => Promise<string> {
  const first = Symbol.asyncIterator in call ? call[Symbol.asyncIterator]().next() : call;
  let outcome = "waits";
  void first.then(
    () => {
      outcome = "answered";
    },
    ({ code }) => {
      outcome = code;
    },
  );
  return async () => {
    await settle();
    return outcome;
  };
}

describe("a store that does not answer", () => {
  it.each(Object.entries(calls))(
    "a store that does not answer is waited for by %s for `storeWaitMs`",
    async (_, make) => {
      await using scene = await start();
      scene.line.hold();
      const call = errorOf(make(scene));
      await scene.clock.advance(storeWaitMs);
      expect(await call).toMatchObject(refused);
      scene.line.restore();
    },
  );

  it.each(Object.entries(calls))(
    "a silent store is waited for by %s for `storeWaitMs`, whichever of its methods is the one without an answer",
    async (_, make) => {
      const methods = await methodsOf(make);
      expect(methods).not.toEqual([]);
      for (const method of methods) {
        await using scene = await start();
        scene.line.hold(method);
        const outcome = outcomeOf(make(scene));
        await scene.clock.advance(storeWaitMs);
        expect([method, await outcome()]).toEqual([method, expect.stringMatching(/^(answered|unavailable)$/u)]);
        scene.line.restore();
      }
    },
  );

  it.each(Object.entries(calls).filter(([name]) => /push/iu.test(name)))(
    "a store is waited for by %s for `storeWaitMs`, when only the store of push configurations is silent",
    async (_, make) => {
      await using scene = await start();
      scene.pushLine.hold();
      const call = errorOf(make(scene));
      await scene.clock.advance(storeWaitMs);
      expect(await call).toMatchObject(refused);
      scene.pushLine.restore();
    },
  );

  it("a hundred reads of one owner wait for a silent store together, later ones 1.5 times as long", async () => {
    await using scene = await start();
    scene.line.hold();
    const first = Array.from({ length: 100 }, () => errorOf(scene.get(scene.taskId)));
    await scene.clock.advance(storeWaitMs / 4);
    const later = Array.from({ length: 100 }, () => errorOf(scene.get(scene.taskId)));
    await scene.clock.advance((storeWaitMs * 3) / 4);
    for (const error of await Promise.all([...first, ...later])) expect(error).toMatchObject(refused);
    const last = Array.from({ length: 100 }, () => errorOf(scene.get(scene.taskId)));
    await scene.clock.advance(storeWaitMs);
    for (const error of await Promise.all(last)) expect(error).toMatchObject(refused);
    scene.line.restore();
    await scene.clock.advance(2000);
    expect(stateOf(await scene.get(scene.taskId))).toBe("INPUT_REQUIRED");
  });

  it("a silent store is asked once for the tasks of an owner, whose sends all end after `storeWaitMs`", async () => {
    await using scene = await start({ tasksPerOwner: 4 });
    const counted = (): number => scene.line.calls.filter((method) => method === "unfinished").length;
    const before = counted();
    scene.line.hold("unfinished");
    const errors = Array.from({ length: 100 }, () => errorOf(scene.send("go")));
    await scene.clock.advance(storeWaitMs);
    for (const error of await Promise.all(errors)) expect(error).toMatchObject(refused);
    expect(counted() - before).toBe(1);
    scene.line.restore();
    await scene.clock.advance(2000);
    // Those that share a count share what it found.
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => scene.send("go")));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
  });
});

describe("a store with slow reads", () => {
  /** A handler whose store takes `ms` for calls of `methods`. */
  function startSlow(methods: ReadonlySet<string>, ms: number) {
    const clock = createVirtualClock();
    const store = around<TaskStore>(memoryTaskStore({ clock }), async ({ method }, go) => {
      if (methods.has(method)) await new Promise<void>((resolve) => clock.after(ms, resolve));
      return go();
    });
    const readiness: boolean[] = [];
    const served = startHandler({ agent: async ({ text }) => completed(text), clock, store });
    served.health.watch((isReady) => readiness.push(isReady));
    return { ...served, readiness };
  }

  it("slow reads of a store are refused and logged once a minute, and everything else goes on", async () => {
    await using served = startSlow(new Set(["list"]), 3000);
    for (let seconds = 0; seconds < 50; seconds++) {
      const list = errorOf(served.operations.listTasks(requestOf("listTasks"), contextOf()));
      expect(stateOf(taskOf(await served.send("go")))).toBe("COMPLETED");
      await served.clock.advance(2000);
      expect(await list).toMatchObject(refused);
    }
    expect(served.readiness).toEqual([]);
    const lines = served.log
      .filter(({ level }) => level !== "debug")
      .map(({ level, message }) => `${level} ${message}`);
    expect(lines).toEqual(Array(2).fill("warn the task store answers too late for some calls"));
  });

  it("a store with slow reads still finds the tasks of a process that is gone", async () => {
    const clock = createVirtualClock();
    const inner = memoryTaskStore({ clock });
    const line = storeLine(inner);
    const waiting: Agent = async ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject));
    const gone = startHandler({ agent: waiting, clock, store: line.store });
    const { id } = taskOf(await gone.send("go", { configuration: { returnImmediately: true } }));
    await settle();
    line.hold();
    const slow = around<TaskStore>(inner, async ({ method }, go) => {
      if (method === "orphans") await new Promise<void>((resolve) => clock.after(3000, resolve));
      return go();
    });
    await using served = startHandler({ agent: waiting, clock, store: slow });
    await clock.advance(60_000);
    const task = await served.get(id);
    expect(stateOf(task)).toBe("FAILED");
    expect(textIn(task.status?.message?.parts)).not.toBe("");
  });
});
