import { expect } from "vitest";
import type { Transport } from "../../../src/binding/transport.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { cutAfter, type Direction, type Ending, type Rule } from "../../support/fault-schedule.js";
import { leftOpen, listenersOn, openHandles } from "../../support/leaks.js";
import { tries } from "../../support/tries.js";
import { inTime, type Outcome, outcomeOf, type Spoilable, transportAt } from "./through-proxy.js";

/** Every way of cutting a connection. */
export const cuts = (["request", "response"] as const).flatMap((direction) =>
  (["end", "reset", "half"] as const).map((how) => [direction, how] as const),
);

/** A call that is repeated, each time over a new connection. */
export interface Swept<T> {
  call(transport: Transport, signal: AbortSignal): Promise<T> | AsyncIterable<StreamItem>;
  /** Asserts that the outcome of one call is permitted. */
  judge(outcome: Outcome<T>): void | Promise<void>;
}

const positionsMost = tries(16, 40);

/** Returns offsets into `size` bytes: the edges, their neighbors, and others at even distances. */
export function positionsIn(size: number): number[] {
  const edges = [0, 1, size - 1, size];
  const count = positionsMost - edges.length;
  const even = Array.from({ length: count }, (_, place) => Math.round((place * size) / count));
  return [...new Set([...edges, ...even])].sort((a, b) => a - b);
}

/** Returns the bytes that a call sends in one direction without faults. */
export async function sizeOf<T>(agent: Spoilable, swept: Swept<T>, direction: Direction): Promise<number> {
  await using proxy = await agent.proxy();
  await using transport = transportAt(agent.wire, proxy.port);
  const outcome = await outcomeOf(swept.call(transport, new AbortController().signal));
  expect(outcome.error).toBeUndefined();
  await swept.judge(outcome);
  return proxy.record()[0]?.[direction] ?? 0;
}

/** Repeats a call with its connection cut at each position. Returns how many calls failed. */
export async function sweepCuts<T>(
  agent: Spoilable,
  swept: Swept<T>,
  [direction, how]: readonly [Direction, Ending],
): Promise<{ readonly calls: number; readonly failed: number }> {
  const positions = positionsIn(await sizeOf(agent, swept, direction));
  const before = openHandles();
  let failed = 0;
  for (const after of positions) {
    const outcome = await within(`cut after ${after} bytes`, () => once(agent, swept, cutAfter(direction, after, how)));
    if (outcome === "failed") failed += 1;
  }
  expect(await leftOpen(before)).toEqual({});
  return { calls: positions.length, failed };
}

/** Repeats a call over a connection that delivers all bytes in two pieces, split at each position. */
export async function sweepPieces<T>(agent: Spoilable, swept: Swept<T>, direction: Direction): Promise<void> {
  const positions = positionsIn(await sizeOf(agent, swept, direction));
  const before = openHandles();
  for (const at of positions) {
    const rule: Rule = { kind: "flow", [direction]: { pieces: { at: [at] } } };
    expect(await within(`in two pieces at ${at}`, () => once(agent, swept, rule))).toBe("succeeded");
  }
  expect(await leftOpen(before)).toEqual({});
}

/** Makes one call under a rule. If it fails, asserts that its connection gets closed. */
export async function once<T>(agent: Spoilable, swept: Swept<T>, rule: Rule): Promise<"failed" | "succeeded"> {
  await using proxy = await agent.proxy([rule]);
  await using transport = transportAt(agent.wire, proxy.port);
  const { signal } = new AbortController();
  const outcome = await outcomeOf(swept.call(transport, signal));
  await swept.judge(outcome);
  expect(proxy.connections).toBe(1);
  if (outcome.error === undefined) return "succeeded";
  expect(outcome.error.message).not.toBe("");
  expect(listenersOn(signal)).toBe(0);
  await transport.close?.();
  await inTime(proxy.idle());
  return "failed";
}

/** Prefixes the message of an error with the call that failed. */
async function within<R>(where: string, run: () => Promise<R>): Promise<R> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Error) error.message = `${where}: ${error.message}`;
    throw error;
  }
}
