import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { artifact, inputRequired, park, reply, working } from "../../../src/protocol/events.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import type { SendMessageResponse } from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { processSignals } from "../../../src/signals/in-process.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { around } from "../../support/fault-store.js";
import { contextOf, startHandler, type TestHandlerOptions } from "../../support/handler.js";
import { errorOf, historyOf, linesOf, messageOf, requestOf, stateOf, taskOf, textIn } from "../../support/say.js";
import { storeLine } from "../../support/store-line.js";
import { createVirtualClock, settle, turnUntil, type VirtualClock } from "../../support/virtual-clock.js";

// A store that answers, but later than a send waits: the send is refused, and its first write arrives nevertheless.

const once = { extensions: [idempotentSendExtension] };
const refused = { code: "unavailable", retryAfterMs: 1000 };

/** Two processes on one store. The line of the first to the store can be held; `heldFrom`: from the start, for one method. */
function startTwo(agent: Agent, options: Partial<TestHandlerOptions> = {}, heldFrom?: keyof TaskStore) {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const line = storeLine(store);
  if (heldFrom !== undefined) line.hold(heldFrom);
  const runs: string[] = [];
  const serve = (name: string, reached: TaskStore) =>
    startHandler({
      clock,
      store: reached,
      signals: processSignals,
      ...options,
      agent: (turn) => {
        runs.push(`${name} ${turn.cause} ${turn.text}`);
        return agent(turn);
      },
    });
  const [first, second] = [serve("first", line.store), serve("second", store)];
  return {
    clock,
    store,
    line,
    runs,
    first,
    second,
    async [Symbol.asyncDispose]() {
      line.restore();
      await first[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
    },
  };
}

/** An agent that works until the clock has advanced by a minute. */
const slowly =
  (clock: () => VirtualClock): Agent =>
  async ({ emit, text }) => {
    await emit(working());
    await new Promise<void>((resolve) => clock().after(60_000, resolve));
    await emit(artifact(`done: ${text}`));
  };

type Sent = Promise<SendMessageResponse> | AsyncIterable<StreamItem>;

/** The states of its task that a caller is shown. */
async function statesOf(sent: Sent): Promise<readonly string[]> {
  if (sent instanceof Promise) return [stateOf(taskOf(await sent))];
  return (await linesOf(sent)).flatMap((line) => /^(?:task|status) (\w+)/u.exec(line)?.[1] ?? []);
}

const immediately = { messageId: "m", configuration: { returnImmediately: true } };

async function listed({ first }: ReturnType<typeof startTwo>) {
  return (await first.operations.listTasks(requestOf("listTasks", { includeArtifacts: true }), contextOf())).tasks;
}

describe("an idempotent send whose task is stored later than its caller waits", () => {
  const ways: readonly [string, (handler: ReturnType<typeof startHandler>) => Sent][] = [
    ["unary", (handler) => handler.send("go", { messageId: "m" }, once)],
    ["returning immediately", (handler) => handler.send("go", immediately, once)],
    ["a stream", (handler) => handler.stream("go", { messageId: "m" }, once)],
  ];
  const cases = ways.flatMap(([way, send]) =>
    ([false, true] as const).flatMap((restartable) =>
      (["first", "second"] as const).map((at) => ({ way, send, restartable, at })),
    ),
  );

  it.each(cases)(
    "a late idempotent send is refused ($way), and gives a repeat its task ($at process, restartable: $restartable)",
    async ({ send, restartable, at }) => {
      await using two = startTwo(
        slowly(() => two.clock),
        { restartable },
      );
      two.line.hold("create");
      const error = errorOf(send(two.first));
      await two.clock.advance(2000);
      expect(await error).toMatchObject(refused);
      two.line.restore();
      const repeat = statesOf(send(two[at]));
      await two.clock.advance(70_000);
      for (const state of await repeat) expect(["SUBMITTED", "WORKING", "COMPLETED"]).toContain(state);
      const [task, ...others] = await listed(two);
      expect([stateOf(task), textIn(task?.artifacts[0]?.parts)]).toEqual(["COMPLETED", "done: go"]);
      expect([two.runs, others]).toEqual([["first message go"], []]);
    },
  );

  it("an idempotent send lets a repeat wait that comes before the task is stored", async () => {
    await using two = startTwo(slowly(() => two.clock));
    two.line.hold("create");
    const error = errorOf(two.first.send("go", { messageId: "m" }, once));
    await two.clock.advance(2000);
    expect(await error).toMatchObject(refused);
    const repeats = [two.first, two.second].map((handler) => linesOf(handler.stream("go", { messageId: "m" }, once)));
    await two.clock.advance(1500);
    two.line.restore();
    await two.clock.advance(70_000);
    for (const lines of await Promise.all(repeats)) {
      expect(lines[0]).toMatch(/^task /u);
      expect(lines.at(-1)).toBe("status COMPLETED");
    }
    expect(two.runs).toEqual(["first message go"]);
  });

  it("an idempotent send runs its agent again where its process has lost its lease", async () => {
    await using two = startTwo(
      slowly(() => two.clock),
      { restartable: true },
    );
    await two.clock.advance(1000);
    two.line.hold("create", "renew");
    const error = errorOf(two.first.send("go", { messageId: "m" }, once));
    await two.clock.advance(40_000);
    expect(await error).toMatchObject(refused);
    two.line.restore();
    const repeat = two.second.send("go", { messageId: "m" }, once);
    await two.clock.advance(120_000);
    expect(stateOf(taskOf(await repeat))).toBe("COMPLETED");
    expect((await listed(two)).map(stateOf)).toEqual(["COMPLETED"]);
  });

  it.each([
    [true, "COMPLETED"],
    [false, "FAILED"],
  ] as const)(
    "an idempotent send that arrives after its process has given it up is looked after (restartable: %s)",
    async (restartable, state) => {
      const clock = createVirtualClock();
      const line = storeLine(memoryTaskStore({ clock }));
      let isAlone = false;
      const store = around(line.store, async ({ method }, go) => {
        if (isAlone && method === "renew") throw new Error("no store");
        return go();
      });
      await using served = startHandler({ clock, store, restartable, agent: slowly(() => clock) });
      await clock.advance(1000);
      line.hold("create");
      const error = errorOf(served.send("go", { messageId: "m" }, once));
      await clock.advance(2000);
      expect(await error).toMatchObject(refused);
      isAlone = true;
      await clock.advance(60_000);
      isAlone = false;
      await clock.advance(60_000);
      line.restore();
      await clock.advance(120_000);
      const { tasks } = await served.operations.listTasks(requestOf("listTasks"), contextOf());
      expect(tasks.map(stateOf)).toEqual([state]);
    },
  );

  it("an idempotent send keeps no caller, observer or timer behind when the write never arrives", async () => {
    await using two = startTwo(slowly(() => two.clock));
    await two.clock.advance(1000);
    two.line.hold("create");
    const errors = [errorOf(two.first.send("a", { messageId: "a" }, once)), errorOf(two.first.stream("b", {}, once))];
    await two.clock.advance(2000);
    for (const error of errors) expect(await error).toMatchObject(refused);
    const closing = turnUntil(two.clock, two.first.handler.close());
    two.line.restore();
    await closing;
    await two.clock.advance(60_000);
    for (const { status } of await listed({ ...two, first: two.second })) expect(status?.state).not.toBe(2);
  });
});

describe("an idempotent send whose outcome is recorded later than its caller waits", () => {
  it.each(["first", "second"] as const)(
    "an idempotent send with a late outcome answers a repeat at the %s process, from one run of the agent",
    async (at) => {
      await using two = startTwo(async ({ text }) => reply(`reply to ${text}`));
      await two.clock.advance(1000);
      two.line.hold("settleSend");
      const error = errorOf(two.first.send("go", { messageId: "m" }, once));
      await two.clock.advance(2000);
      expect(await error).toMatchObject(refused);
      const repeat = two[at].send("go", { messageId: "m" }, once);
      await two.clock.advance(1000);
      two.line.restore();
      await two.clock.advance(10_000);
      expect(textIn(messageOf(await repeat).parts)).toBe("reply to go");
      expect(two.runs).toEqual(["first message go"]);
    },
  );

  it.each(["first", "second"] as const)(
    "an idempotent send with a late outcome refuses a repeat at the %s process, from one run of the agent",
    async (at) => {
      await using two = startTwo(async () => {
        throw new A2AError("contentTypeNotSupported", "not this");
      });
      await two.clock.advance(1000);
      two.line.hold("settleSend");
      const error = errorOf(two.first.send("go", { messageId: "m" }, once));
      await two.clock.advance(2000);
      expect(await error).toMatchObject({ code: "contentTypeNotSupported" });
      const repeat = errorOf(two[at].send("go", { messageId: "m" }, once));
      await two.clock.advance(1000);
      two.line.restore();
      await two.clock.advance(10_000);
      expect(await repeat).toMatchObject({ code: "contentTypeNotSupported", message: "not this" });
      expect(two.runs).toEqual(["first message go"]);
    },
  );
});

describe("an idempotent send of a process that has no lease, and cannot get one", () => {
  it("an idempotent send of a process that cannot get a lease is refused in time", async () => {
    await using two = startTwo(async () => inputRequired("more?"), {}, "renew");
    const { id: taskId } = taskOf(await two.second.send("go"));
    const sends = [
      two.first.send("go", { messageId: "a" }, once),
      two.first.send("more", { messageId: "b", taskId }, once),
    ];
    const errors = sends.map((send) => errorOf(send));
    await two.clock.advance(4000);
    for (const error of errors) expect(await error).toMatchObject(refused);
  });
});

/** Sends an idempotent message to a waiting task at the first process, which claims its turn too late. */
async function refuseFollowUp({ first, line, clock }: ReturnType<typeof startTwo>): Promise<string> {
  const { id: taskId } = taskOf(await first.send("go"));
  await settle();
  line.hold("append");
  const error = errorOf(first.send("more", { messageId: "m", taskId }, once));
  await clock.advance(2000);
  expect(await error).toMatchObject(refused);
  return taskId;
}

describe("an idempotent message to a task whose turn is claimed later than its caller waits", () => {
  it.each([
    [false, "first"],
    [false, "second"],
    [true, "first"],
    [true, "second"],
  ] as const)(
    "an idempotent message with a late claim is refused, its repeat answered once (restartable: %s, %s process)",
    async (restartable, at) => {
      const agent: Agent = async ({ text }) => inputRequired(`more than ${text}?`);
      await using two = startTwo(agent, { restartable });
      const { id: taskId } = taskOf(await two.first.send("go"));
      await settle();
      two.line.hold("append");
      const message = { messageId: "m", taskId };
      const error = errorOf(two.first.send("more", message, once));
      await two.clock.advance(2000);
      expect(await error).toMatchObject(refused);
      two.line.restore();
      const repeat = two[at].send("more", message, once);
      await two.clock.advance(20_000);
      const task = taskOf(await repeat);
      expect(textIn(task.status?.message?.parts)).toBe("more than more?");
      expect(historyOf(await two.second.get(taskId)).filter((line) => line.startsWith("user"))).toEqual([
        "user: go",
        "user: more",
      ]);
      expect(two.runs.filter((run) => run.endsWith("more"))).toHaveLength(1);
    },
  );

  it("a message with a late claim is refused without the extension too, and answered later", async () => {
    await using two = startTwo(async ({ text }) => inputRequired(`more than ${text}?`));
    const { id: taskId } = taskOf(await two.first.send("go"));
    await settle();
    two.line.hold("append");
    const error = errorOf(two.first.send("more", { taskId }));
    await two.clock.advance(2000);
    expect(await error).toMatchObject(refused);
    two.line.restore();
    await two.clock.advance(20_000);
    expect(textIn((await two.second.get(taskId)).status?.message?.parts)).toBe("more than more?");
    expect(two.runs).toEqual(["first message go", "first message more"]);
  });

  it("a late claim of a turn holds back a shutdown until the claim has ended", async () => {
    await using two = startTwo(async ({ text }) => inputRequired(`more than ${text}?`));
    const taskId = await refuseFollowUp(two);
    const drained = two.first.handler.drain(10_000);
    await two.clock.advance(1000);
    two.line.restore();
    await turnUntil(two.clock, drained);
    expect(two.runs).toContain("first message more");
    expect(textIn((await two.second.get(taskId)).status?.message?.parts)).toBe("more than more?");
  });

  it("a late claim starts no turn in a process that has closed meanwhile", async () => {
    await using two = startTwo(async ({ text }) => inputRequired(`more than ${text}?`));
    await refuseFollowUp(two);
    await turnUntil(two.clock, two.first.handler.close());
    two.line.restore();
    await two.clock.advance(20_000);
    expect(two.runs).toEqual(["first message go"]);
  });
});

describe("a parked task whose turn is claimed late", () => {
  const parkOnce: Agent = async ({ text, cause }) => {
    if (text === "go" && cause === "message") return park();
    return artifact(`${cause} ${text}`, { artifactId: "a" });
  };

  it.each([
    ["a wake", "wake go"],
    ["a message", "message more"],
  ] as const)(
    "a parked task whose turn is claimed late goes on with %s that was refused meanwhile, and does not fail",
    async (what, expected) => {
      await using two = startTwo(parkOnce);
      const { id } = taskOf(await two.first.send("go", { configuration: { returnImmediately: true } }));
      await settle();
      two.line.hold("append");
      const scope = { agent: "", tenant: "", owner: "alice" };
      const call = what === "a wake" ? two.first.handler.wake(scope, id) : two.first.send("more", { taskId: id });
      const error = errorOf(call);
      await two.clock.advance(2000);
      expect(await error).toMatchObject(refused);
      two.line.restore();
      await two.clock.advance(20_000);
      const task = await two.second.get(id);
      expect([stateOf(task), textIn(task.artifacts[0]?.parts)]).toEqual(["COMPLETED", expected]);
    },
  );

  it("a parked task whose turn is claimed late goes on with the wake of its own time, and does not fail", async () => {
    await using two = startTwo(async ({ cause }) =>
      cause === "message" ? park({ wakeAt: two.clock.now() + 5000 }) : undefined,
    );
    const { id } = taskOf(await two.first.send("go", { configuration: { returnImmediately: true } }));
    await two.second[Symbol.asyncDispose]();
    two.line.hold("append");
    await two.clock.advance(9000);
    two.line.restore();
    await two.clock.advance(20_000);
    expect(stateOf(await two.first.get(id))).toBe("COMPLETED");
    expect(two.runs).toEqual(["first message go", "first wake go"]);
  });
});

describe("a plain send whose task is stored later than its caller waits", () => {
  it("a plain send whose task is stored late leaves it to the process that has taken it over", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    const secondLine = storeLine(store);
    const arrival = Promise.withResolvers<void>();
    const never = new Promise<never>(() => {});
    const toStore = around(store, async ({ method }, go) => {
      if (method !== "create") return go();
      await arrival.promise;
      await go();
      return never;
    });
    const firstLine = storeLine(toStore);
    const runs: string[] = [];
    const serve = (name: string, { store: reached }: { readonly store: TaskStore }) => {
      const agent: Agent = async (turn) => {
        runs.push(`${name} ${turn.cause}`);
        await turn.emit(working());
        await new Promise<void>((resolve) => clock.after(60_000, resolve));
      };
      return startHandler({ clock, store: reached, signals: processSignals, restartable: true, agent });
    };
    const first = serve("first", firstLine);
    await using second = serve("second", secondLine);
    const error = errorOf(first.send("go"));
    await clock.advance(2000);
    expect(await error).toMatchObject(refused);
    firstLine.hold();
    arrival.resolve();
    await clock.advance(40_000);
    secondLine.hold();
    firstLine.restore();
    await clock.advance(120_000);
    secondLine.restore();
    await clock.advance(1000);
    expect(runs).toEqual(["first message", "second restart", "first restart"]);
    const { tasks } = await second.operations.listTasks(requestOf("listTasks"), contextOf());
    expect(tasks.map(stateOf)).toEqual(["COMPLETED"]);
  });
});

describe("a task whose process waits for the answer to a write", () => {
  it("a task whose process waits for the answer to a write is shown as the store has it", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock });
    let answers: Promise<void> | undefined;
    const deaf = around(store, async ({ method }, go) => {
      const result = await go();
      if (method === "append") await answers;
      return result;
    });
    const gate = Promise.withResolvers<void>();
    const agent: Agent = async ({ emit }) => {
      await emit(working());
      await gate.promise;
      await emit(artifact("x", { artifactId: "a" }));
    };
    await using runner = startHandler({ agent, clock, store: deaf });
    await using other = startHandler({ agent, clock, store });
    const { id } = taskOf(await runner.send("go", { configuration: { returnImmediately: true } }));
    await settle();
    const answered = Promise.withResolvers<void>();
    answers = answered.promise;
    gate.resolve();
    await settle();
    expect((await other.get(id)).artifacts).toHaveLength(1);
    expect((await runner.get(id)).artifacts).toHaveLength(1);
    answered.resolve();
    await settle();
    expect(stateOf(await runner.get(id))).toBe("COMPLETED");
  });
});
