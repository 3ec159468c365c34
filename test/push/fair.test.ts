import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { defaultPushLimits } from "../../src/push/limits.js";
import { type Receiver, webhook } from "./receiver.js";
import { type Scene, scene, status } from "./scene.js";

/** Ends a task of an owner that has a webhook. */
async function endTask(on: Scene, owner: string, url: string): Promise<void> {
  const task = await on.task();
  await task.register("p", { url }, { scope: { agent: "", tenant: "", owner } });
  await task.write([status("COMPLETED")]);
}

async function times(count: number, run: () => Promise<void>): Promise<void> {
  for (let done = 0; done < count; done += 1) await run();
}

/** A webhook that answers when it is told to. */
async function heldWebhook() {
  const hook = await webhook();
  const answers: ((status: number) => void)[] = [];
  hook.answer = () => new Promise((resolve) => answers.push(resolve));
  const answerAll = (code: number): void => {
    for (const answer of answers.splice(0)) answer(code);
  };
  return { hook, answerAll };
}

async function silentWebhook(): Promise<Receiver> {
  const hook = await webhook();
  hook.answer = () => undefined;
  return hook;
}

/** Ends deliveries, some of which hang. */
async function close(on: Scene): Promise<void> {
  const closed = on.push.close();
  await on.clock.advance(2000);
  await closed;
}

describe("an endpoint that accepts calls and never answers", () => {
  it("an endpoint that never answers delays no webhook at another destination, of any owner", async () => {
    await using silent = await silentWebhook();
    await using hook = await webhook();
    const on = scene();
    await times(200, () => endTask(on, "alice", silent.url));
    await silent.untilReceived(4);
    await endTask(on, "bob", hook.url);
    await endTask(on, "alice", hook.url);
    // The clock stands still: no call has timed out.
    await hook.untilReceived(2);
    expect(silent.calls).toHaveLength(4);
    await close(on);
  });

  it("an endpoint that never answers gets one call at a time after five have timed out", async () => {
    await using silent = await silentWebhook();
    const on = scene({ random: () => 0.5 });
    await times(50, () => endTask(on, "alice", silent.url));
    for (const [calls, ms] of [
      [4, 15_000],
      [6, 15_000],
    ] as const) {
      await silent.untilReceived(calls);
      await on.clock.advance(ms);
    }
    await on.timer(700);
    for (const [calls, nextMs] of [
      [7, 1400],
      [8, 2800],
    ] as const) {
      await on.clock.advance(nextMs / 2);
      await silent.untilReceived(calls);
      await on.clock.advance(15_000);
      await on.timer(nextMs);
    }
    expect(silent.calls).toHaveLength(8);
    expect(on.logs.filter((line) => line.includes("calls are paused"))).toHaveLength(1);
    await on.push.close();
  });
});

describe("an owner with many webhooks", () => {
  it("an owner with many webhooks does not delay another owner's webhooks at the same destination", async () => {
    const { hook, answerAll } = await heldWebhook();
    await using _ = hook;
    const on = scene();
    await times(100, () => endTask(on, "alice", `${hook.url}?alice`));
    await hook.untilReceived(4);
    await endTask(on, "bob", `${hook.url}?bob`);
    await setImmediate();
    answerAll(204);
    await hook.untilReceived(8);
    expect(hook.calls.slice(4).map(({ path }) => path)).toContain("/hook?bob");
    hook.answer = () => 204;
    answerAll(204);
    await hook.untilReceived(101);
    await on.push.close();
  });

  it("an owner with many webhooks leaves calls to other owners, however many destinations hang", async () => {
    await using silent = await silentWebhook();
    await using hook = await webhook();
    const limits = { ...defaultPushLimits, pushCallsAtOnce: 8, pushCallsPerOwner: 6 };
    const on = scene({ limits, lookup: async () => ["127.0.0.1"] });
    for (let host = 0; host < 20; host += 1) await endTask(on, "alice", `http://h${host}.example:${silent.port}/`);
    await silent.untilReceived(6);
    await endTask(on, "bob", hook.url);
    await hook.untilReceived(1);
    expect(silent.calls).toHaveLength(6);
    await close(on);
  });

  it("an owner with many webhooks gets them all delivered at many destinations", async () => {
    await using hook = await webhook();
    await using on = scene({ lookup: async () => ["127.0.0.1"] });
    for (let host = 0; host < 200; host += 1) await endTask(on, "alice", `http://h${host}.example:${hook.port}/`);
    await hook.untilReceived(200);
  });
});

describe("owners whose webhooks fail or hang at a shared host", () => {
  it.each([
    ["answer 503", 503],
    ["never answer", undefined],
  ])(
    "owners whose webhooks fail or hang delay no webhook of another owner at their host: three that %s",
    async (_, bad) => {
      await using hook = await webhook();
      hook.answer = ({ path }) => (path === "/hook?bad" ? bad : 204);
      const on = scene({ random: () => 0.5 });
      for (const owner of ["alice", "carol", "dave"]) await times(30, () => endTask(on, owner, `${hook.url}?bad`));
      if (bad === undefined) await hook.untilReceived(12);
      else await expect.poll(() => on.logs.filter((line) => line.includes("calls are paused")).length).toBe(3);
      // The clock stands still: no call has timed out, and no pause is over.
      await endTask(on, "bob", hook.url);
      await expect.poll(() => hook.calls.map(({ path }) => path)).toContain("/hook");
      await close(on);
    },
  );

  it("owners whose webhooks fail share their room: no more calls at once than a destination may have", async () => {
    await using silent = await silentWebhook();
    const limits = { ...defaultPushLimits, pushCallsPerDestination: 6 };
    const on = scene({ limits });
    for (const owner of ["alice", "carol", "dave"]) await times(10, () => endTask(on, owner, silent.url));
    await silent.untilReceived(6);
    await setImmediate();
    expect(silent.calls).toHaveLength(6);
    await close(on);
  });
});

describe("the calls to a destination", () => {
  it("the calls to a destination start with four at once and grow while it answers", async () => {
    const { hook, answerAll } = await heldWebhook();
    await using _ = hook;
    const on = scene();
    await times(60, () => endTask(on, "alice", hook.url));
    const rounds = [4, 5, 6, 7];
    let calls = 0;
    for (const round of rounds) {
      calls += round;
      await hook.untilReceived(calls);
      expect(hook.calls).toHaveLength(calls);
      answerAll(204);
    }
    hook.answer = () => 204;
    await hook.untilReceived(calls + 1);
    answerAll(204);
    await hook.untilReceived(60);
    await on.push.close();
  });
});

describe("a destination that fails", () => {
  it("a destination that fails is probed after pauses and gets the rest, both logged once", async () => {
    await using hook = await webhook();
    let code = 503;
    hook.answer = () => code;
    const on = scene({ random: () => 0.5 });
    await times(30, () => endTask(on, "alice", `${hook.url}?key=s3cret`));
    await expect.poll(() => on.logs.length).toBe(1);
    await on.clock.advance(699);
    const before = hook.calls.length;
    await on.clock.advance(1);
    await hook.untilReceived(before + 1);
    await on.timer(1400);
    expect(hook.calls).toHaveLength(before + 1);
    code = 204;
    await on.clock.advance(1400);
    await hook.untilReceived(before + 31);
    await on.push.close();
    expect(on.logs.map((line) => JSON.parse(line).message)).toEqual([
      "a webhook destination fails, its calls are paused",
      "a webhook destination answers again",
    ]);
    expect(on.logs.map((line) => JSON.parse(line).origin)).toEqual(Array(2).fill(new URL(hook.url).origin));
  });

  it("a destination that fails holds up no graceful shutdown: what waits is left with its cursor", async () => {
    await using hook = await webhook();
    hook.answer = () => 503;
    const on = scene({ random: () => 0.5 });
    const task = await on.task();
    for (const id of ["p", "q", "r", "s", "t", "u", "v"]) await task.register(id, { url: hook.url });
    await task.write([status("COMPLETED")]);
    await expect.poll(() => on.logs.length).toBe(1);
    await on.push.close();
    expect(await task.owed()).toHaveLength(7);
    expect(on.clock.pending().filter((due) => due > on.clock.now() + 1)).toEqual([]);
  });

  it("a destination that fails is left by a delivery when its configuration gets another destination", async () => {
    await using failing = await webhook();
    await using hook = await webhook();
    failing.answer = () => 503;
    await using on = scene({ random: () => 0.5 });
    const task = await on.task();
    const ids = ["p", "q", "r", "s", "t", "u", "v"];
    for (const id of ids) await task.register(id, { url: failing.url });
    await task.write([status("COMPLETED")]);
    await expect.poll(() => on.logs.length).toBe(1);
    for (const id of ids) await task.register(id, { url: hook.url });
    await hook.untilReceived(7);
    expect(hook.labels).toEqual(Array(7).fill("COMPLETED"));
  });
});

describe("an answer with Retry-After", () => {
  it.each([429, 503])(
    "an answer of status %d with Retry-After holds the owner's calls to that destination for that long",
    async (code) => {
      await using hook = await webhook();
      hook.answer = (_, count) => (count === 1 ? [code, { "Retry-After": "20" }] : 204);
      await using on = scene();
      await endTask(on, "alice", hook.url);
      await on.timer(20_000);
      await endTask(on, "alice", hook.url);
      await endTask(on, "bob", `${hook.url}?bob`);
      await hook.untilReceived(2);
      await on.clock.advance(19_999);
      expect(hook.calls.map(({ path }) => path)).toEqual(["/hook", "/hook?bob"]);
      await on.clock.advance(1);
      await hook.untilReceived(4);
    },
  );

  it("an answer with Retry-After holds the calls to a destination for a minute at most", async () => {
    await using hook = await webhook();
    hook.answer = (_, count) => (count === 1 ? [429, { "Retry-After": "999999" }] : 204);
    await using on = scene();
    await endTask(on, "alice", hook.url);
    await on.timer(60_000);
    await on.clock.advance(60_000);
    await hook.untilReceived(2);
  });
});
