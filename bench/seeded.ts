import type { Server } from "./child.ts";
import { post } from "./load/http.ts";
import { jsonRpcCall, jsonRpcResult, type TaskJson } from "./wire.ts";

export type SeededSide = "ours" | "peer";

/** One task in this many is FAILED, one in this many belongs to the one long conversation; the others are ten to each. */
export const failedEach = 100;
export const longContextEach = 100;
/** The place of those of the long conversation: task 1, task 101, … of tasks that count from 0, the oldest. */
export const longContextAt = 1;
/** From one task to the next. */
export const apartMs = 50;

/** What a file of `seed.ts` holds. */
export interface SeededTasks {
  readonly count: number;
  /** The conversation with many tasks. */
  readonly longContext: string;
  /** When a task of ours came to its end, by its number from 0, the oldest. */
  timeOf(index: number): string;
}

/**
 * Asks a server on a seeded file what the seeder has chosen, so that the seeder may be that of another revision: the
 * newest page has a task of the long conversation, and the ids of ours begin with their time.
 */
export async function seededBy({ http: port }: Server, count: number): Promise<SeededTasks> {
  const call = jsonRpcCall("ListTasks", () => ({ pageSize: longContextEach, historyLength: 0 }));
  const { tasks } = jsonRpcResult<{ readonly tasks: readonly TaskJson[] }>(await post(port, call, 1), 1);
  const longContext = tasks.find((_, place) => (count - 1 - place) % longContextEach === longContextAt)?.contextId;
  const [newest] = tasks;
  if (newest?.id === undefined || longContext === undefined)
    throw new Error(`${tasks.length} tasks on the newest page`);
  const end = Number.parseInt(newest.id.replaceAll("-", "").slice(0, 12), 16) + apartMs;
  return { count, longContext, timeOf: (index) => new Date(end - (count - index) * apartMs).toISOString() };
}
