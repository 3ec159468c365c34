import { describe, expect, it } from "vitest";
import { TurnAborted } from "../../../src/core/agent.js";
import { artifact, completed } from "../../../src/protocol/events.js";
import type { Task } from "../../../src/protocol/model.js";
import { beginTask, startHandler } from "../../support/handler.js";
import { errorOf, stateOf, textIn } from "../../support/say.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

const chunk = (text: string) => artifact(text, { artifactId: "a", append: true });
const textOfFirst = (task: Task): string => textIn(task.artifacts[0]?.parts);
const forAbort = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener("abort", resolve));

/** Records the name of the reason with which a wait was aborted. */
const logRejection = async (work: Promise<unknown>, log: string[]): Promise<void> => {
  await work.catch((reason: unknown) => log.push(reason instanceof TurnAborted ? reason.kind : String(reason)));
};

describe("after the grace period", () => {
  it("a turn that outlives its grace is cut off: its calls reject, and no more of its events are stored", async () => {
    const log: string[] = [];
    const gate = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    await using served = await beginTask({
      async agent({ emit, receive }) {
        await emit(chunk("1"));
        await gate.promise;
        for (const work of [emit(chunk("2")), emit(completed()), receive()]) await logRejection(work, log);
        over.resolve();
      },
    });
    const answer = served.cancel(served.taskId);
    await settle();
    await served.clock.advance(4999);
    expect(stateOf(await served.get(served.taskId))).toBe("SUBMITTED");
    await served.clock.advance(1);
    expect(stateOf(await answer)).toBe("CANCELED");
    gate.resolve();
    await over.promise;
    expect(log).toEqual(["Canceled", "Canceled", "Canceled"]);
    expect(textOfFirst(await served.get(served.taskId))).toBe("1");
  });

  it("a generator that outlives its grace is closed at its next yield", async () => {
    const gate = Promise.withResolvers<void>();
    const steps: string[] = [];
    await using served = await beginTask({
      async *agent() {
        try {
          yield chunk("1");
          await gate.promise;
          yield chunk("2");
          steps.push("went on");
        } finally {
          steps.push("closed");
        }
      },
    });
    const answer = served.cancel(served.taskId);
    await settle();
    await served.clock.advance(5000);
    expect(textOfFirst(await answer)).toBe("1");
    gate.resolve();
    await settle();
    expect(steps).toEqual(["closed"]);
  });
});

it("a new turn without events answers after the grace that the server is shutting down", async () => {
  const served = startHandler({ agent: ({ signal }) => forAbort(signal).then(() => undefined) });
  const answers = [errorOf(served.send("go")), errorOf(served.stream("go"))];
  await settle();
  await served[Symbol.asyncDispose]();
  for (const answer of answers) expect(await answer).toMatchObject({ code: "unavailable", retryAfterMs: 1000 });
});

it("a turn is cut off at once when another process takes its task over, and writes nothing more", async () => {
  const clock = createVirtualClock();
  const log: string[] = [];
  const over = Promise.withResolvers<void>();
  await using served = await beginTask({
    clock,
    async agent({ emit, signal }) {
      await emit(chunk("1"));
      await forAbort(signal);
      for (const text of ["2", "3"]) await logRejection(emit(chunk(text)), log);
      over.resolve();
    },
  });
  const { head } = (await served.store.read({ agent: "", tenant: "", owner: "alice" }, served.taskId)) ?? {};
  const { key = 0, epoch = 0, seq = 0, turn = 0 } = head ?? {};
  const records = [{ kind: "turnStarted", seq: seq + 1, turn, attempt: 2, cause: "restart" }] as const;
  await served.store.append({ key, epoch, seq, records, bytes: 0, claim: { holder: "thief", turn } });
  await clock.advance(1000);
  await over.promise;
  expect(log).toEqual(["OwnershipLost", "OwnershipLost"]);
  expect(textOfFirst(await served.get(served.taskId))).toBe("1");
  expect(await served.store.head({ agent: "", tenant: "", owner: "alice" }, served.taskId)).toMatchObject({
    holder: "thief",
    seq: seq + 1,
  });
  await served.opening.iterator.return?.();
});
