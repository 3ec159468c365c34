import { expect } from "vitest";
import { type Task, TaskState } from "../../src/protocol/model.js";
import { isTerminal } from "../../src/protocol/states.js";
import { attempt } from "./callers.js";
import type { Run } from "./mortal-server.js";
import type { Scene } from "./scene.js";
import { answered, cancel, sendAgain } from "./sends.js";

/** Returns all listed tasks by id. */
async function listAll({ callers }: Scene): Promise<ReadonlyMap<string, Task>> {
  const tasks = new Map<string, Task>();
  for (let pageToken = ""; ; ) {
    const page = await callers.of.JSONRPC.listTasks({ pageSize: 100, pageToken });
    for (const task of page.tasks) tasks.set(task.id, task);
    if (page.nextPageToken === "") return tasks;
    pageToken = page.nextPageToken;
  }
}

export const stateOf = (task: Task): TaskState => task.status?.state ?? TaskState.UNSPECIFIED;

/**
 * Settles everything after the load has stopped: repeats sends without an answer until they have one, waits until every
 * task comes to rest, and cancels those that wait for their caller. Returns the final tasks.
 */
export async function settle(scene: Scene, from: number): Promise<ReadonlyMap<string, Task>> {
  const { ledger } = scene;
  for (const send of ledger.sent.slice(from)) {
    if (send.answer !== undefined) continue;
    // A send to a task may have been refused because the task had ended.
    const mayHaveEnded = send.starts ? [] : (["unsupportedOperation"] as const);
    const answer = await attempt(ledger, "a send that is repeated", () => sendAgain(scene, send), ...mayHaveEnded);
    if (answer !== undefined) answered(scene, send, answer);
  }
  await atRest(scene);
  const resting = [...(await listAll(scene)).values()].filter((task) => !isTerminal(stateOf(task)));
  for (const task of resting) await cancel(scene, "JSONRPC", task);
  return listAll(scene);
}

// Waits until the only running turns belong to the current process and wait to be canceled.
async function atRest(scene: Scene): Promise<void> {
  const { ledger, server, patienceMs: timeout } = scene;
  let busy: readonly string[] = [];
  const looked = async (): Promise<number> => {
    const isHeld = ({ life, verb }: Run): boolean => server.isAlive(life) && verb === "hold";
    const held = new Set(
      server
        .runs()
        .filter(isHeld)
        .map(({ taskId }) => taskId),
    );
    busy = [...(await listAll(scene)).values()]
      .filter((task) => stateOf(task) === TaskState.WORKING || stateOf(task) === TaskState.SUBMITTED)
      .filter(({ id }) => !held.has(id))
      .map((task) => `${task.id} ${TaskState[stateOf(task)]}`);
    return busy.length;
  };
  try {
    await expect.poll(looked, { timeout, interval: 100 }).toBe(0);
  } catch {
    ledger.faults.push(`nobody works on ${busy.length} tasks that are not at rest: ${busy.slice(0, 5).join(", ")}`);
  }
}
