import { expect } from "vitest";
import type { Transport } from "../../../src/binding/transport.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { cut, type Direction, type Ending, type Rule } from "../../support/fault-schedule.js";
import { leftOpen, listenersOn, openHandles } from "../../support/leaks.js";
import { tries } from "../../support/tries.js";
import { inTime, type Outcome, outcomeOf, type Spoilable, transportAt } from "./through-proxy.js";

/** Every way of cutting a connection. */
export const cuts = (["request", "response"] as const).flatMap((direction) =>
  (["end", "reset", "half"] as const).map((how) => [direction, how] as const),
);

/** A call that is made again and again, each time over a connection of its own. */
export interface Swept<T> {
  call(transport: Transport, signal: AbortSignal): Promise<T> | AsyncIterable<StreamItem>;
  /** Holds what came of one call against what may come of it. */
  judge(outcome: Outcome<T>): void | Promise<void>;
}

const positionsMost = tries(16, 40);

/** Offsets into so many bytes: the first, the last, its neighbours, and others at even distances. */
export function positionsIn(size: number): number[] {
  const edges = [0, 1, size - 1, size];
  const count = positionsMost - edges.length;
  const even = Array.from({ length: count }, (_, place) => Math.round((place * size) / count));
  return [...new Set([...edges, ...even])].sort((a, b) => a - b);
}

/** How many bytes a call takes in one direction when nothing is spoilt. */
export async function sizeOf<T>(agent: Spoilable, swept: Swept<T>, direction: Direction): Promise<number> {
  await using proxy = await agent.proxy();
  await using transport = transportAt(agent.wire, proxy.port);
  const outcome = await outcomeOf(swept.call(transport, new AbortController().signal));
  expect(outcome.error).toBeUndefined();
  await swept.judge(outcome);
  return proxy.record()[0]?.[direction] ?? 0;
}

/** Makes a call with its connection cut at place after place. Tells how many calls failed. */
export async function sweepCuts<T>(
  agent: Spoilable,
  swept: Swept<T>,
  [direction, how]: readonly [Direction, Ending],
): Promise<{ readonly calls: number; readonly failed: number }> {
  const positions = positionsIn(await sizeOf(agent, swept, direction));
  const before = openHandles();
  let failed = 0;
  for (const after of positions) {
    const told = await within(`cut after ${after} bytes`, () => once(agent, swept, cut(direction, after, how)));
    if (told === "failed") failed += 1;
  }
  expect(await leftOpen(before)).toEqual({});
  return { calls: positions.length, failed };
}

/** Makes a call over a connection that carries all bytes, in pieces that end at place after place. */
export async function sweepPieces<T>(agent: Spoilable, swept: Swept<T>, direction: Direction): Promise<void> {
  const positions = positionsIn(await sizeOf(agent, swept, direction));
  const before = openHandles();
  for (const at of positions) {
    const rule: Rule = { kind: "flow", [direction]: { pieces: { at: [at] } } };
    expect(await within(`in two pieces at ${at}`, () => once(agent, swept, rule))).toBe("succeeded");
  }
  expect(await leftOpen(before)).toEqual({});
}

/** One call by one rule, its connection closed by the client end wherever the rule has cut it. */
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

/** Says in which of many calls something went wrong. */
async function within<R>(where: string, run: () => Promise<R>): Promise<R> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Error) error.message = `${where}: ${error.message}`;
    throw error;
  }
}
