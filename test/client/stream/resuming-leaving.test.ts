import { describe, expect, it } from "vitest";
import { Client } from "../../../src/client/node.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { emptyTask } from "../../../src/protocol/fold.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { createFaultProxy, type FaultProxy } from "../../support/fault-proxy.js";
import { leftOpen, listenersOn, openHandles } from "../../support/leaks.js";
import { createVirtualClock, turnUntil, type VirtualClock } from "../../support/virtual-clock.js";
import { type ForeignAgent, foreignAgent, type JsonBinding, jsonBindings } from "./resuming-agent.js";
import { chunk, status, taskEvent } from "./resuming-events.js";

// A stream is left at every stage, in every way.

interface Scene {
  readonly agent: ForeignAgent;
  readonly proxy: FaultProxy;
  readonly clock: VirtualClock;
  readonly items: AsyncIterator<StreamItem>;
  readonly caller: AbortController;
}

/** A step that waits. */
interface Waiting {
  readonly step: Promise<IteratorResult<StreamItem>>;
}

interface Stage {
  readonly streams: boolean;
  readonly reach: (scene: Scene) => Promise<Waiting>;
}

/** Waits for an event, and rejects with the step if that fails first: on a slow machine its deadline may pass meanwhile. */
async function unlessOver<T>(step: Promise<unknown>, event: Promise<T>): Promise<void> {
  await Promise.race([step, event]);
}

async function begin({ agent, items }: Scene): Promise<void> {
  const first = items.next();
  await unlessOver(first, agent.opened(1));
  agent.emit(taskEvent(emptyTask("t", "c")));
  await first;
}

/** Waits until a timer is set on the clock, or the step is over. */
async function paused({ clock }: Scene, step: Promise<unknown>): Promise<void> {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  step.then(end, end);
  while (!isOver && clock.pending().length === 0) await new Promise((resolve) => setImmediate(resolve));
}

const stages: Readonly<Record<string, Stage>> = {
  "while it opens": {
    streams: true,
    async reach({ agent, items }) {
      const step = items.next();
      await unlessOver(step, agent.opened(1));
      return { step };
    },
  },
  "while it waits for an event": {
    streams: true,
    async reach(scene) {
      await begin(scene);
      return { step: scene.items.next() };
    },
  },
  "while it waits for an event behind a break": {
    streams: true,
    async reach(scene) {
      await begin(scene);
      const { agent, items } = scene;
      agent.cut();
      await agent.opened(0);
      agent.emit(chunk("missed"));
      await items.next();
      return { step: items.next() };
    },
  },
  "between two tries": {
    streams: true,
    async reach(scene) {
      await begin(scene);
      await scene.proxy.setSchedule([{ kind: "refuse" }]);
      scene.agent.cut();
      const step = scene.items.next();
      await paused(scene, step);
      return { step };
    },
  },
  "between two questions": {
    streams: false,
    async reach(scene) {
      await scene.items.next();
      const step = scene.items.next();
      await paused(scene, step);
      return { step };
    },
  },
};

const timeoutMs = 200;

async function inScene(
  binding: JsonBinding,
  { streams, timed }: { readonly streams: boolean; readonly timed: boolean },
  run: (scene: Scene) => Promise<void>,
): Promise<void> {
  const before = openHandles();
  const clock = createVirtualClock();
  const caller = new AbortController();
  {
    await using agent = await foreignAgent({ streams });
    await using proxy = await createFaultProxy({ target: { port: agent.port } });
    await using client = await Client.connect(agent.card(binding, proxy.port), { clock });
    const { signal } = caller;
    const stream = client.stream("go", { signal, ...(timed ? { timeoutMs } : {}) });
    await run({ agent, proxy, clock, caller, items: stream[Symbol.asyncIterator]() });
    await agent.opened(0);
    expect(clock.pending()).toEqual([]);
    expect(listenersOn(signal)).toBe(0);
  }
  expect(await leftOpen(before)).toEqual({});
}

describe.each(jsonBindings)("over %s", (binding) => {
  describe.each(Object.entries(stages))("%s,", (_, { streams, reach }) => {
    it("a stream ends at once when its reader leaves", () =>
      inScene(binding, { streams, timed: false }, async (scene) => {
        const { step } = await reach(scene);
        expect(await scene.items.return?.()).toEqual({ done: true, value: undefined });
        expect(await step).toEqual({ done: true, value: undefined });
        expect(await scene.items.next()).toEqual({ done: true, value: undefined });
      }));

    it("a stream whose caller aborts fails with the reason", () =>
      inScene(binding, { streams, timed: false }, async (scene) => {
        const { step } = await reach(scene);
        const reason = new Error("enough");
        scene.caller.abort(reason);
        await expect(step).rejects.toBe(reason);
        expect(await scene.items.next()).toEqual({ done: true, value: undefined });
      }));

    it("a stream past its deadline fails", () =>
      inScene(binding, { streams, timed: true }, async (scene) => {
        // On a slow machine the stage may already be over.
        const { step } = await reach(scene).catch((error: unknown) => ({ step: Promise.reject(error) }));
        const failure = expect(step).rejects.toSatisfy(
          (error) => error instanceof A2AError && ["deadlineExceeded", "unavailable"].includes(error.code),
        );
        await turnUntil(scene.clock, failure);
        expect(await scene.items.next()).toEqual({ done: true, value: undefined });
      }));
  });

  it("a stream aborted before its start makes no request", () =>
    inScene(binding, { streams: true, timed: false }, async ({ agent, items, caller }) => {
      const reason = new Error("enough");
      caller.abort(reason);
      await expect(items.next()).rejects.toBe(reason);
      expect(agent.calls).toEqual([]);
    }));

  it("a stream left before its start makes no request", () =>
    inScene(binding, { streams: true, timed: false }, async ({ agent, items }) => {
      await items.return?.();
      expect(await items.next()).toEqual({ done: true, value: undefined });
      expect(agent.calls).toEqual([]);
    }));

  it("a loop that breaks closes the stream", () =>
    inScene(binding, { streams: true, timed: false }, async (scene) => {
      await begin(scene);
      scene.agent.emit(status("WORKING"), chunk("one"));
      const cases: unknown[] = [];
      for await (const item of { [Symbol.asyncIterator]: () => scene.items }) {
        cases.push(item.response.payload.case);
        break;
      }
      expect(cases).toEqual(["statusUpdate"]);
    }));

  it("concurrent next() calls of a stream get the events in order", () =>
    inScene(binding, { streams: true, timed: false }, async ({ agent, items }) => {
      const steps = Array.from({ length: 6 }, () => items.next());
      await agent.opened(1);
      agent.emit(taskEvent(emptyTask("t", "c")), status("WORKING"));
      await Promise.all(steps.slice(0, 2));
      agent.cut();
      await agent.opened(0);
      agent.emit(chunk("one"));
      await steps[2];
      agent.emit(chunk("two"), status("COMPLETED"));
      const results = await Promise.all(steps);
      expect(results.map(({ value }) => value?.response.payload.case)).toEqual([
        "task",
        "statusUpdate",
        "artifactUpdate",
        "artifactUpdate",
        "statusUpdate",
        undefined,
      ]);
      expect(agent.calls).toEqual(["sendStreamingMessage", "subscribeToTask", "getTask"]);
    }));
});
