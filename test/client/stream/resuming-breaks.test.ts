import { describe, expect, it } from "vitest";
import type { ClientFactory } from "../../../src/client/connect.js";
import { Client } from "../../../src/client/node.js";
import type { SendOptions } from "../../../src/client/send-options.js";
import { ConnectionError } from "../../../src/protocol/errors.js";
import { emptyTask } from "../../../src/protocol/fold.js";
import { patientClients } from "../../support/clients.js";
import { createFaultProxy, type FaultProxy } from "../../support/fault-proxy.js";
import { cutAfter, type Schedule } from "../../support/fault-schedule.js";
import { createVirtualClock, turnUntil, type VirtualClock } from "../../support/virtual-clock.js";
import { throughPauses } from "../support/pauses.js";
import { type ForeignAgent, foreignAgent, hasty, jsonBindings } from "./resuming-agent.js";
import { chunk, type LineReader, lineReaderOf, status, taskEvent } from "./resuming-events.js";

// How often a stream may break, how long its agent may be away, and when a message is sent again.

interface Scene extends AsyncDisposable {
  readonly agent: ForeignAgent;
  readonly proxy: FaultProxy;
  readonly clock: VirtualClock;
  readonly stream: LineReader;
}

async function beginScene(options: SendOptions = {}, clients: ClientFactory = Client): Promise<Scene> {
  const clock = createVirtualClock();
  const agent = await foreignAgent();
  const proxy = await createFaultProxy({ target: { port: agent.port } });
  const client = await clients.connect(agent.card("JSONRPC", proxy.port), { clock });
  const stream = lineReaderOf(client.stream("go", options));
  const first = stream.next();
  await agent.opened(1);
  agent.emit(taskEvent(emptyTask("t", "c")));
  await first;
  return {
    agent,
    proxy,
    clock,
    stream,
    async [Symbol.asyncDispose]() {
      await client.close();
      await proxy[Symbol.asyncDispose]();
      await agent[Symbol.asyncDispose]();
    },
  };
}

/** Advances the clock until a promise settles. */
async function inTurns<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  await turnUntil(clock, promise.then(ignore, ignore));
  return promise;
}

function ignore(): void {}

it("a stream resumes after an agent outage", async () => {
  await using scene = await beginScene();
  const { agent, proxy, clock, stream } = scene;
  const back = Promise.withResolvers<void>();
  await proxy.setSchedule([{ kind: "refuse", until: () => back.promise }, { kind: "pass" }]);
  agent.cut();
  const next = stream.next();
  await agent.opened(0);
  agent.emit(chunk("one"));
  const away = clock.now() + 3000;
  while (clock.now() < away) await clock.advance(100);
  expect(agent.calls).toEqual(["sendStreamingMessage"]);
  back.resolve();
  expect(await inTurns(clock, next)).toBe('difference: artifact a "one"');
});

it("a permanent agent outage is one error within a minute", async () => {
  await using scene = await beginScene();
  const { agent, proxy, clock, stream } = scene;
  await proxy.setSchedule([{ kind: "refuse" }]);
  const start = clock.now();
  agent.cut();
  await expect(inTurns(clock, stream.next())).rejects.toBeInstanceOf(ConnectionError);
  expect(clock.now() - start).toBeLessThan(60_000);
  expect(await stream.rest()).toEqual([]);
  expect(clock.pending()).toEqual([]);
});

it("a permanent agent outage is one error by the call's deadline", async () => {
  await using scene = await beginScene({ timeoutMs: 2500 });
  const { agent, proxy, clock, stream } = scene;
  await proxy.setSchedule([{ kind: "refuse" }]);
  const start = clock.now();
  agent.cut();
  await expect(inTurns(clock, stream.next())).rejects.toMatchObject({ code: /unavailable|deadlineExceeded/ });
  expect(clock.now() - start).toBeLessThanOrEqual(3000);
});

/** Breaks the connection this many times, each time while the stream waits on it. */
async function breakTimes({ agent, clock }: Scene, times: number, quietMs: number): Promise<void> {
  for (let count = 0; count < times; count++) {
    await clock.advance(quietMs);
    const calls = agent.calls.length;
    agent.cut();
    while (agent.calls.length === calls) await clock.advance(100);
    await agent.opened(1);
    // Let the snapshot arrive.
    await clock.advance(0);
  }
}

it("a connection that keeps breaking without an event in between is given up", async () => {
  await using scene = await beginScene();
  const next = scene.stream.next();
  const failed = expect(next).rejects.toBeInstanceOf(ConnectionError);
  await breakTimes(scene, 5, 0);
  scene.agent.cut();
  await failed;
});

it("a connection that breaks now and then without new events is re-opened", async () => {
  await using scene = await beginScene();
  const next = scene.stream.next();
  await breakTimes(scene, 20, 60_000);
  scene.agent.emit(status("COMPLETED"));
  expect(await next).toBe("status COMPLETED");
});

it("a connection that breaks after every event is re-opened while it lasts for some time", async () => {
  await using scene = await beginScene();
  const { agent, clock, stream } = scene;
  agent.emit(chunk("0"));
  await stream.next();
  for (let count = 1; count < 30; count++) {
    await clock.advance(2000);
    agent.cut();
    await agent.opened(0);
    agent.emit(chunk(`${count}`));
    expect(await inTurns(clock, stream.next())).toBe(`difference: artifact a "${count}" append`);
  }
});

it("a connection that breaks at once after every event is re-opened with growing pauses, then given up", async () => {
  await using scene = await beginScene({}, patientClients);
  const { clock, agent, stream } = scene;
  agent.emit(chunk("0"));
  await stream.next();
  const pauses: (readonly number[])[] = [];
  const breaking = async (): Promise<void> => {
    for (let count = 1; count < 100; count++) {
      agent.cut();
      await agent.opened(0);
      agent.emit(chunk(`${count}`));
      const next = stream.next();
      pauses.push(await throughPauses(clock, next));
      await next;
    }
  };
  await expect(breaking()).rejects.toBeInstanceOf(ConnectionError);
  // The first break needs no pause, and the last one fails.
  expect(pauses.map(({ length }) => length)).toEqual([0, ...Array.from({ length: 16 }, () => 1), 0]);
  const waited = pauses.flat();
  expect(waited.toSorted((one, other) => one - other)).toEqual(waited);
  expect([waited.at(0), waited.at(-1)]).toEqual([expect.closeTo(59, 0), 800]);
});

describe.each(jsonBindings)("a message over %s to an agent that does not know messages again", (binding) => {
  async function first(schedule: Schedule): Promise<{ readonly calls: readonly string[]; readonly line: string }> {
    await using agent = await foreignAgent();
    await using proxy = await createFaultProxy({ target: { port: agent.port }, schedule });
    await using client = await patientClients.connect(agent.card(binding, proxy.port), {
      clock: hasty,
    });
    const stream = lineReaderOf(client.stream("go"));
    const next = stream.next().catch((error: unknown) => String(error instanceof ConnectionError && error.written));
    await Promise.race([next, agent.opened(1)]);
    agent.emit(status("WORKING"));
    return { line: await next, calls: agent.calls };
  }

  it("a message is not sent again when its stream breaks before the first event", async () => {
    const { line, calls } = await first([cutAfter("response", 0, "reset"), { kind: "pass" }]);
    expect(line).toBe("true");
    expect(calls).toEqual(["sendStreamingMessage"]);
  });

  it("a message is not sent again when it may have arrived at an agent that runs it twice", async () => {
    const { line, calls } = await first([cutAfter("request", 100, "reset"), { kind: "pass" }]);
    expect(line).toBe("true");
    expect(calls).toEqual([]);
  });

  it("a message is sent again when none of it was written", async () => {
    const back = Promise.withResolvers<void>();
    setImmediate(() => back.resolve());
    const { line, calls } = await first([{ kind: "refuse", until: () => back.promise }, { kind: "pass" }]);
    expect(line).toBe("status WORKING");
    expect(calls).toEqual(["sendStreamingMessage"]);
  });
});
