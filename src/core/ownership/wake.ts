import type { JsonValue } from "@bufbuild/protobuf";
import { runConcurrently } from "../../protocol/async/run-concurrently.js";
import { sanitizeJson } from "../../protocol/check/sanitize.js";
import { taskNotFound } from "../../protocol/errors.js";
import { ownerKey } from "../../protocol/fair-share.js";
import { isTerminal } from "../../protocol/states.js";
import type { Head, StoredTask } from "../ports.js";
import type { TaskRef } from "../read/read-task.js";
import type { Runtime } from "../runtime.js";
import { isStoreAnswer } from "../store-failure.js";
import { tooLarge } from "../task/live-task.js";
import {
  awaitsAuthorization,
  claimRestart,
  contentionError,
  isOrphan,
  maxTries,
  startWoken,
  waitingTurn,
} from "./claim-turn.js";
import { sweepConcurrency, takeOver } from "./take-over.js";

/** Page size of a sweep for due tasks, and the number of pages; the rest waits for the next sweep. */
const duePage = 100;
const duePages = 100;

// How a task that waits continues without a message: the program wakes it (`server.tasks.wake`), or its time has come
// (`wakeDue`, by the alarm of this process or a heartbeat of any).
//
//   no turn                                     ──▶ the next turn starts, with the message of the last one and the wake
//   a turn that waits for an authorization,     ──▶ it runs again, and finds the wake in its inbox
//     without a process
//   a turn                                      ──▶ the wake waits in its inbox: `authorize` takes it, or the end of the
//                                                   turn starts the next one
//
// A wake needs room for a turn at once (`TurnSlots.within`). A task that is due and finds none waits for the next sweep. A
// sweep that fails is followed by one that starts behind the failed task, so that it holds up the others only once.

/**
 * Starts the next turn of a task: at once if no turn runs, else when the running turn ends without ending the task.
 * Returns false for a task that has ended. Throws `taskNotFound`.
 */
export async function wakeTask(runtime: Runtime, { scope, id }: TaskRef, data?: JsonValue): Promise<boolean> {
  const wake = copyData(runtime, data);
  for (let tries = 0; tries < maxTries; tries++) {
    const storedTask = await runtime.store.read(scope, id);
    if (storedTask === undefined) throw taskNotFound(id);
    if (isTerminal(storedTask.head.state)) return false;
    const result = await tryWake(runtime, storedTask, wake);
    if (result !== undefined) return result;
  }
  throw contentionError();
}

// Returns `undefined` when the task must be read again.
async function tryWake(
  runtime: Runtime,
  storedTask: StoredTask,
  wake: JsonValue | undefined,
): Promise<boolean | undefined> {
  const { holder } = storedTask.head;
  if (await isOrphan(runtime, storedTask)) {
    await takeOver(runtime, storedTask);
    return undefined;
  }
  if (holder !== "") return putWake(runtime, storedTask, wake);
  const origin = awaitsAuthorization(storedTask) ? await waitingTurn(runtime, storedTask) : undefined;
  return runtime.turns.within(storedTask.head.scope, async () => {
    if (origin === undefined) return (await startWoken(runtime, storedTask, { wake })) || undefined;
    const startAgain = await claimRestart(runtime, storedTask, origin);
    if (startAgain === undefined) return undefined;
    let result: boolean | undefined;
    try {
      result = await putWake(runtime, storedTask, wake);
      return result;
    } finally {
      startAgain(result === true ? "wake" : undefined);
    }
  });
}

async function putWake(
  { limits, newId, signals, store }: Runtime,
  { head: { id, key } }: StoredTask,
  wake: JsonValue | undefined,
): Promise<boolean | undefined> {
  const result = await store.put(key, { id: newId(), kind: "wake", wake }, limits.inboxMaxMessages);
  if (result === "stored") signals.publish({ kind: "inbox", taskId: id });
  if (result === "stored" || result === "ended") return result === "stored";
  return undefined;
}

/**
 * Starts turns of parked tasks that are due. A task for which there is no room waits for the next sweep and delays no
 * running turn.
 */
export async function wakeDue(runtime: Runtime): Promise<void> {
  const { agentId, alarm, store } = runtime;
  const refused = new Set<string>();
  for (let pages = 0; pages < duePages; pages++) {
    const heads = await store.due(agentId, duePage, alarm.behind);
    await runConcurrently(takeWhileFree(runtime, heads), sweepConcurrency, (head) => {
      // Set before the try: an unreadable task blocks the sweep only once, since the next one starts after it.
      const { wakeAt, key } = head;
      alarm.behind = wakeAt === undefined ? undefined : { wakeAt, key };
      return wakeParked(runtime, head, refused);
    });
    if (isHeldUp(runtime)) return;
    if (heads.length < duePage) {
      alarm.behind = undefined;
      return;
    }
  }
}

function* takeWhileFree(runtime: Runtime, heads: readonly Head[]): Generator<Head> {
  for (const head of heads) {
    if (isHeldUp(runtime)) return;
    yield head;
  }
}

async function wakeParked(runtime: Runtime, { scope, id, wakeAt }: Head, refused: Set<string>): Promise<void> {
  const { store, turns } = runtime;
  const owner = ownerKey(scope);
  if (refused.has(owner)) return;
  try {
    await turns.within(scope, async () => {
      const storedTask = await store.read(scope, id);
      if (storedTask === undefined || storedTask.head.holder !== "" || storedTask.head.wakeAt !== wakeAt) return;
      await startWoken(runtime, storedTask);
    });
  } catch (error) {
    if (!isStoreAnswer(error)) throw error;
    refused.add(owner);
  }
}

function isHeldUp({ alarm, turns }: Runtime): boolean {
  return alarm.closed || turns.isFull;
}

// Copies the data into the form in which it is stored, without anything that JSON cannot express.
function copyData({ limits }: Runtime, data: JsonValue | undefined): JsonValue | undefined {
  if (data === undefined) return undefined;
  const text: string | undefined = JSON.stringify(data);
  if (text === undefined) throw new TypeError(`the data of a wake must be JSON, not ${typeof data}`);
  if (text.length > limits.eventMaxBytes) throw tooLarge("the data of a wake", "eventMaxBytes", limits.eventMaxBytes);
  const copy: JsonValue = JSON.parse(text);
  return sanitizeJson({ data: copy }, { name: "wake", depth: 0 }).data;
}
