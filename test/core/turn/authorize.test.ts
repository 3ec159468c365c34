import { describe, expect, it } from "vitest";
import type { Agent, AuthorizationEnd } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { authorizationExtension, readAuthorization } from "../../../src/protocol/authorization/request.js";
import { artifact, completed, inputRequired, working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { beginTask, startHandler, type TestHandler } from "../../support/handler.js";
import { historyOf, openStream, stateOf, taskOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle, turnUntil, type VirtualClock } from "../../support/virtual-clock.js";

const alice = { tenant: "", owner: "alice" };
const request = { url: "https://id.example/consent?task=1", userCode: "WDJB-MJHT", scopes: ["calendar"] };
const forEver = new Promise<never>(() => {});

/** An agent that notes what ends its waits. It looks for the grant first, as an agent should. */
function place(isGranted: () => boolean = () => false, url = (_turn: number) => request.url) {
  const ends: AuthorizationEnd[] = [];
  const turns: string[] = [];
  const agent: Agent = async function* ({ authorize, cause, attempt }) {
    turns.push(`${cause} ${attempt}`);
    yield working("looking");
    if (!isGranted()) ends.push(await authorize({ ...request, url: url(turns.length) }));
    yield artifact("your calendar", { artifactId: "a" });
    yield completed();
  };
  return { ends, turns, agent };
}

describe("authorize", () => {
  it("authorize shows people and programs what to authorize, and continues when the task is woken", async () => {
    const { ends, agent } = place();
    await using served = startHandler({ agent });
    const task = taskOf(await served.send("go"));
    expect(stateOf(task)).toBe("AUTH_REQUIRED");
    const { message } = task.status ?? {};
    expect(textIn(message?.parts)).toBe(
      "To authorize the agent, open https://id.example/consent?task=1 and enter the code WDJB-MJHT. It asks for: calendar",
    );
    expect(message?.extensions).toEqual([authorizationExtension]);
    expect(readAuthorization(message)).toEqual(request);
    expect(await served.handler.wake(alice, task.id, { by: "callback" })).toBe(true);
    await settle();
    expect(ends).toEqual([{ message: undefined, wake: { by: "callback" } }]);
    expect(stateOf(await served.get(task.id))).toBe("COMPLETED");
  });

  it("authorize keeps the stream of the send open meanwhile", async () => {
    const { agent } = place();
    await using served = await beginTask({ agent });
    await served.handler.wake(alice, served.taskId);
    await settle();
    expect(await served.opening.readRest()).toEqual([
      "status WORKING",
      "status AUTH_REQUIRED",
      "status WORKING",
      'artifact a "your calendar"',
      "status COMPLETED",
    ]);
  });

  it("authorize also ends with a message of the caller, which becomes the message of the turn", async () => {
    const { ends, agent } = place();
    await using served = startHandler({ agent });
    const { id: taskId } = taskOf(await served.send("go"));
    const task = taskOf(await served.send("no, I will not", { taskId }));
    expect(textIn(ends[0]?.message?.parts)).toBe("no, I will not");
    expect(stateOf(task)).toBe("COMPLETED");
  });

  it("authorize leaves a wake alone that comes while the turn asks for input", async () => {
    const answers: string[] = [];
    const agent: Agent = async function* ({ ask, cause }) {
      if (cause === "wake") return;
      answers.push(textIn((await ask(inputRequired("which?"))).parts));
      yield inputRequired("and?");
    };
    await using served = startHandler({ agent });
    const { id: taskId } = taskOf(await served.send("go"));
    await served.handler.wake(alice, taskId);
    await settle();
    expect(stateOf(await served.get(taskId))).toBe("INPUT_REQUIRED");
    await served.send("this", { taskId });
    expect(answers).toEqual(["this"]);
  });

  it("authorize is ended by a wake that came a moment before it asked", async () => {
    const { promise: asks, resolve } = Promise.withResolvers<void>();
    const { ends, agent } = place();
    await using served = await beginTask({
      async *agent(turn) {
        yield working();
        await asks;
        yield* agent(turn) as AsyncGenerator<never>;
      },
    });
    await served.handler.wake(alice, served.taskId);
    resolve();
    await settle();
    expect(ends).toHaveLength(1);
  });

  it.each([
    ["a page without TLS", { url: "http://id.example/" }, "url must be an https URL, or http on this machine"],
    ["a script", { url: "javascript:alert(1)" }, "url must be an https URL, or http on this machine"],
    ["a password in the URL", { url: "https://a:b@id.example/" }, "url must have no user name and no password"],
    [
      "a code with line breaks",
      { ...request, userCode: "A\nB" },
      "userCode must be text of at most 64 visible characters",
    ],
    ["a scope with a space", { ...request, scopes: ["a b"] }, "scopes must be a list of at most 64 scopes of OAuth"],
  ])("authorize refuses %s", async (_, wrong, text) => {
    const problems: unknown[] = [];
    await using served = startHandler({
      async *agent({ authorize }) {
        await authorize(wrong).catch((error: unknown) => problems.push(error));
        yield completed();
      },
    });
    await served.send("go");
    expect(String(problems[0])).toContain(`TypeError: authRequired(): ${text}`);
  });
});

/** Processes on one store, one after the other. */
function processes(agent: Agent, restartable: boolean) {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const start = (): TestHandler & { die(): void } => {
    let isDead = false;
    const cut = new Proxy<TaskStore>(store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        return (...args: readonly unknown[]) => (isDead ? forEver : Reflect.apply(member, target, args));
      },
    });
    return Object.assign(startHandler({ clock, store: cut, agent, restartable }), {
      die() {
        isDead = true;
      },
    });
  };
  return { clock, start };
}

const ways = {
  async drained(clock: VirtualClock, first: TestHandler) {
    await first.handler.drain(10_000);
    await turnUntil(clock, first.handler.close());
  },
  async killed(clock: VirtualClock, first: TestHandler & { die(): void }) {
    first.die();
    await clock.advance(0);
  },
};

describe.each(["drained", "killed"] as const)("a turn that waits for an authorization and is %s", (way) => {
  it.each([
    ["after another process has found out", 40_000],
    ["before", 0],
  ])(
    "a turn that waits for an authorization runs again when the task is woken %s, and asks no second time",
    async (_, laterMs) => {
      const { ends, turns, agent } = place(undefined, (turn) => `https://id.example/consent?state=${turn}`);
      const { clock, start } = processes(agent, true);
      const first = start();
      const { id } = taskOf(await first.send("go"));
      await ways[way](clock, first);
      await using second = start();
      await clock.advance(laterMs);
      expect(turns).toEqual(["message 1"]);
      expect(stateOf(await second.get(id))).toBe("AUTH_REQUIRED");
      const wake = second.handler.wake(alice, id, { by: "callback" });
      await clock.advance(40_000);
      expect(await wake).toBe(true);
      expect([turns, ends]).toEqual([["message 1", "restart 1"], [{ message: undefined, wake: { by: "callback" } }]]);
      const task = await second.get(id);
      expect(stateOf(task)).toBe("COMPLETED");
      expect(historyOf(task).filter((line) => line.includes("To authorize"))).toHaveLength(1);
    },
  );

  it("a turn that waits for an authorization runs again with the caller's message as well", async () => {
    const { ends, agent } = place();
    const { clock, start } = processes(agent, true);
    const first = start();
    const { id: taskId } = taskOf(await first.send("go"));
    await ways[way](clock, first);
    await using second = start();
    await clock.advance(40_000);
    expect(stateOf(taskOf(await second.send("done", { taskId })))).toBe("COMPLETED");
    expect(textIn(ends[0]?.message?.parts)).toBe("done");
  });

  it("a turn that finds its grant continues without asking, and the wake starts no other turn", async () => {
    let isGranted = false;
    const { ends, turns, agent } = place(() => isGranted);
    const { clock, start } = processes(agent, true);
    const first = start();
    const { id } = taskOf(await first.send("go"));
    await ways[way](clock, first);
    isGranted = true;
    await using second = start();
    await clock.advance(40_000);
    await second.handler.wake(alice, id);
    await clock.advance(40_000);
    expect([turns, ends]).toEqual([["message 1", "restart 1"], []]);
    expect(stateOf(await second.get(id))).toBe("COMPLETED");
  });

  it("a wake for an authorization starts the next turn where turns are not run again", async () => {
    let isGranted = false;
    const { turns, agent } = place(() => isGranted);
    const { clock, start } = processes(agent, false);
    const first = start();
    const { id } = taskOf(await first.send("go"));
    await ways[way](clock, first);
    isGranted = true;
    await using second = start();
    const wake = second.handler.wake(alice, id);
    await clock.advance(40_000);
    expect(await wake).toBe(true);
    expect(turns).toEqual(["message 1", "wake 1"]);
    expect(stateOf(await second.get(id))).toBe("COMPLETED");
  });
});

it("a wake in the inbox of a process that dies is not lost", async () => {
  const { turns, agent } = place();
  for (const restartable of [true, false]) {
    turns.length = 0;
    const { clock, start } = processes(agent, restartable);
    const first = start();
    const { id } = taskOf((await openStream(first.stream("go"))).firstItem.response);
    await settle();
    first.die();
    await using second = start();
    expect(await second.handler.wake(alice, id)).toBe(true);
    await clock.advance(60_000);
    expect(turns).toEqual(["message 1", restartable ? "restart 1" : "wake 1"]);
  }
});
