import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/core/agent.js";
import { createLease } from "../../src/core/lease.js";
import { defaultCoreLimits } from "../../src/core/limits.js";
import type { TaskStore } from "../../src/core/ports.js";
import { working } from "../../src/protocol/events.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { beginTask } from "../support/handler.js";
import { openStream } from "../support/say.js";
import { createVirtualClock } from "../support/virtual-clock.js";

/** A lease over a store whose renewals can fail, with a count of renewals. */
function leased() {
  const clock = createVirtualClock();
  const store = memoryTaskStore({ clock });
  const state = { renewals: 0, broken: false };
  const renew: TaskStore["renew"] = async (instance, ttlMs) => {
    state.renewals++;
    if (state.broken) throw new Error("no store");
    await clock.advance(100);
    return store.renew(instance, ttlMs);
  };
  const limits = { ...defaultCoreLimits, instanceTtlMs: 15_000 };
  const checkHeld = async (): Promise<void> => {};
  const lease = createLease({ store: { ...store, renew }, clock, limits, instance: "i", checkHeld });
  return { clock, lease, state };
}

describe("a lease", () => {
  it("a lease is acquired before the first task is claimed, and reused while it is valid", async () => {
    const { lease, state } = leased();
    await lease.renewIfLapsed();
    expect(state.renewals).toBe(1);
    expect(lease.renewIfLapsed()).toBeUndefined();
    expect(state.renewals).toBe(1);
  });

  it("a lease is valid for the time the store grants, counted from before the request", async () => {
    const { clock, lease } = leased();
    await lease.renew();
    await clock.advance(14_899);
    expect(lease.renewIfLapsed()).toBeUndefined();
    await clock.advance(1);
    await expect(lease.renewIfLapsed()).resolves.toBeUndefined();
    expect(lease.renewIfLapsed()).toBeUndefined();
  });

  it("a lease is invalid when its renewal fails", async () => {
    const { lease, state } = leased();
    state.broken = true;
    await expect(lease.renewIfLapsed()).rejects.toThrow("no store");
    state.broken = false;
    await lease.renewIfLapsed();
    expect(lease.renewIfLapsed()).toBeUndefined();
  });
});

it("a handler that slept past its lease renews it before it claims another task", async () => {
  const clock = createVirtualClock();
  let sleptMs = 0;
  const now = (): number => clock.now() + sleptMs;
  const store = memoryTaskStore({ clock: { ...clock, now } });
  const gate = Promise.withResolvers<void>();
  const options = { clock: { ...clock, now }, store };
  const agent: Agent = async ({ emit }) => {
    await emit(working());
    await gate.promise;
  };
  await using served = await beginTask({ ...options, agent });
  const orphans = async () => (await store.orphans("", 10)).map(({ id }) => id);
  expect(await orphans()).toEqual([]);
  sleptMs = 60_000;
  expect(await orphans()).toEqual([served.taskId]);
  const next = await openStream(served.stream("next"));
  expect(await orphans()).toEqual([]);
  gate.resolve();
  expect((await next.readRest()).at(-1)).toBe("status COMPLETED");
});
