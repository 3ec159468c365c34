import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type AbortKind, type Agent, type Turn, TurnAborted } from "../../../src/core/agent.js";
import type { TaskStore } from "../../../src/core/ports.js";
import { merge } from "../../../src/core/turn/run-agent.js";
import { artifact, completed, failed, inputRequired, working } from "../../../src/protocol/events.js";
import { type Task, TaskState } from "../../../src/protocol/model.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { beginTask, type StartedTask } from "../../support/handler.js";
import { heldStore } from "../../support/held-store.js";
import { stateOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle, turnUntil } from "../../support/virtual-clock.js";

const chunk = (text: string) => artifact(text, { artifactId: "a", append: true });
const textOfFirst = (task: Task): string => textIn(task.artifacts[0]?.parts);
const forAbort = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener("abort", resolve));

/** Records the name of the reason with which a wait was aborted. */
const logRejection = async (work: Promise<unknown>, log: string[]): Promise<void> => {
  await work.catch((reason: unknown) => log.push(reason instanceof TurnAborted ? reason.kind : String(reason)));
};

describe("the signal of a turn", () => {
  it.each<[AbortKind, (served: StartedTask) => unknown]>([
    ["Canceled", ({ cancel, taskId }) => cancel(taskId)],
    ["DeadlineExceeded", ({ clock }) => clock.advance(60_000)],
    ["Draining", ({ handler }) => handler.close()],
  ])("the signal of a turn aborts with the reason %s", async (kind, abort) => {
    const turns: Turn[] = [];
    await using served = await beginTask({
      limits: { turnDeadlineMs: 60_000 },
      async *agent(turn) {
        turns.push(turn);
        yield working();
        await forAbort(turn.signal);
      },
    });
    await abort(served);
    const [turn] = turns;
    expect(turn?.signal.aborted).toBe(true);
    expect(turn?.signal.reason).toBeInstanceOf(TurnAborted);
    expect(turn?.signal.reason).toBeInstanceOf(DOMException);
    expect(turn?.signal.reason).toBeInstanceOf(Error);
    expect(turn?.signal.reason).toMatchObject({ kind, name: "AbortError", code: DOMException.ABORT_ERR });
    expect(() => turn?.signal.throwIfAborted()).toThrow(`the turn was aborted: ${kind}`);
  });

  it("the signal of a turn ends a wait of Node's own that was given the signal, and a request", async () => {
    const ended: string[] = [];
    const note = (error: Error): number => ended.push(`${error.name}, ${error instanceof TurnAborted}`);
    await using served = await beginTask({
      async *agent({ signal }) {
        yield working();
        const body = new ReadableStream({ pull: () => forAbort(signal).then(() => {}) });
        await Promise.all([
          pause(60_000, undefined, { signal }).catch(note),
          new Response(body).body?.pipeTo(new WritableStream(), { signal }).catch(note),
        ]);
      },
    });
    await served.cancel(served.taskId);
    expect(new Set(ended)).toEqual(new Set(["AbortError, false", "AbortError, true"]));
  });

  it("the signal of a turn is already aborted when first read after the abort", async () => {
    const gate = Promise.withResolvers<void>();
    const aborted: boolean[] = [];
    await using served = await beginTask({
      async agent(turn) {
        await turn.emit(working());
        await gate.promise;
        aborted.push(turn.signal.aborted);
      },
    });
    const answer = served.cancel(served.taskId);
    await settle();
    gate.resolve();
    await answer;
    expect(aborted).toEqual([true]);
  });
});

describe("after an abort", () => {
  it("after an abort every emit that waits for room rejects and drops its event; later events are stored", async () => {
    const clock = createVirtualClock();
    const held = heldStore(clock);
    const start = Promise.withResolvers<void>();
    const log: string[] = [];
    await using served = await beginTask({
      clock,
      store: held.store,
      limits: { batchMaxEvents: 1 },
      async agent({ emit, flush, signal }) {
        await emit(chunk("1"));
        await flush();
        held.hold();
        await emit(chunk("2"));
        await settle();
        const waiting = ["3", "4", "5"].map((text) => logRejection(emit(chunk(text)), log));
        start.resolve();
        await forAbort(signal);
        await Promise.all(waiting);
        held.release();
        await emit(chunk("6"));
      },
    });
    await start.promise;
    expect(stateOf(await served.cancel(served.taskId))).toBe("CANCELED");
    expect(log).toEqual(["Canceled", "Canceled"]);
    expect(textOfFirst(await served.get(served.taskId))).toBe("1236");
  });

  it("after an abort only the next emit rejects when none waits", async () => {
    const log: string[] = [];
    await using served = await beginTask({
      async agent({ emit, signal }) {
        await emit(chunk("1"));
        await forAbort(signal);
        for (const text of ["2", "3"]) await logRejection(emit(chunk(text)), log);
      },
    });
    const task = await served.cancel(served.taskId);
    expect([log, textOfFirst(task)]).toEqual([["Canceled"], "13"]);
  });

  it.each<[string, (turn: Turn) => Promise<unknown>]>([
    ["receive", ({ receive }) => receive()],
    ["ask", ({ ask }) => ask(inputRequired("?"))],
  ])("after an abort only the caller that waits in %s gets the error", async (_, wait) => {
    const log: string[] = [];
    await using served = await beginTask({
      async agent(turn) {
        await turn.emit(working());
        await logRejection(wait(turn), log);
        await logRejection(turn.emit(chunk("unwinding")), log);
      },
    });
    const task = await served.cancel(served.taskId);
    expect([log, stateOf(task), textOfFirst(task)]).toEqual([["Canceled"], "CANCELED", "unwinding"]);
  });

  it("after an abort the waiting `yield` throws, and events yielded while unwinding are stored", async () => {
    const log: string[] = [];
    await using served = await beginTask({
      async *agent({ signal }) {
        yield chunk("1");
        await forAbort(signal);
        try {
          yield chunk("2");
        } catch (reason) {
          log.push(reason instanceof TurnAborted ? reason.kind : "");
          yield chunk("3");
        }
      },
    });
    expect([textOfFirst(await served.cancel(served.taskId)), log]).toEqual(["13", ["Canceled"]]);
  });

  it("after an abort merged generators throw once or are closed, and their last events are stored", async () => {
    const reasons: string[] = [];
    const closed: string[] = [];
    async function* source(name: string, { signal, emit }: Turn) {
      try {
        yield chunk(name);
        await forAbort(signal);
        yield chunk("too late");
      } catch {
        reasons.push(name);
        yield chunk("!");
      } finally {
        await emit(chunk(name.toUpperCase()));
        closed.push(name);
      }
    }
    await using served = await beginTask({ agent: (turn) => merge(source("a", turn), source("b", turn)) });
    const task = await served.cancel(served.taskId);
    expect([reasons, closed]).toEqual([["a"], ["b", "a"]]);
    expect([stateOf(task), textOfFirst(task)]).toEqual(["CANCELED", "abB!A"]);
  });

  it.each<[string, Agent, string]>([
    [
      "a terminal state counts",
      async ({ emit, signal }) => {
        await emit(working());
        await forAbort(signal);
        await emit(chunk("")).catch(() => {});
        await emit(completed("just done"));
      },
      "COMPLETED",
    ],
    [
      "a failure of its own counts",
      async ({ emit, signal }) => {
        await emit(working());
        await forAbort(signal);
        await emit(chunk("")).catch(() => {});
        return failed("no");
      },
      "FAILED",
    ],
    [
      "a question does not",
      async ({ emit, signal }) => {
        await emit(working());
        await forAbort(signal);
        await emit(chunk("")).catch(() => {});
        return inputRequired("?");
      },
      "CANCELED",
    ],
    [
      "an error does not",
      async ({ emit, signal }) => {
        await emit(working());
        await forAbort(signal);
        throw new Error("interrupted");
      },
      "CANCELED",
    ],
  ])("when a cancel aborts a turn, within the grace, %s", async (_, agent, state) => {
    await using served = await beginTask({ agent });
    expect(stateOf(await served.cancel(served.taskId))).toBe(state);
  });
});

it("a turn that is drained while it takes a message leaves no task WORKING that nobody runs", async () => {
  const clock = createVirtualClock();
  const plain = memoryTaskStore({ clock });
  const answers = Promise.withResolvers<void>();
  // The message is taken, and the process learns of it late.
  const append: TaskStore["append"] = async (write) => {
    const result = await plain.append(write);
    if (write.takes !== undefined) await answers.promise;
    return result;
  };
  const store = new Proxy<TaskStore>(plain, {
    get(target, name) {
      const member: unknown = name === "append" ? append : Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  await using served = await beginTask({
    clock,
    store,
    restartable: true,
    async agent({ ask }) {
      await ask(inputRequired("which one?"));
    },
  });
  const { taskId } = served;
  const answer = served.send("the red one", { taskId }).catch(() => {});
  await settle();
  const closing = served.handler.close();
  await settle();
  answers.resolve();
  await turnUntil(clock, closing);
  await answer;
  const head = await plain.head({ agent: "", tenant: "", owner: "alice" }, taskId);
  // Another process runs the turn again.
  expect([head?.state, head?.holder === ""]).toEqual([TaskState.WORKING, false]);
});
