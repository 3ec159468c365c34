import type { Scope } from "../../protocol/context.js";
import { A2AError, taskNotFound } from "../../protocol/errors.js";
import { type CancelTaskRequest, type Task, TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import type { Head, StoredTask } from "../ports.js";
import { readStoredTask } from "../read/read-task.js";
import { RecordReader } from "../read/record-reader.js";
import type { Runtime } from "../runtime.js";
import { readState } from "../task/record.js";
import { endWithoutTurn, isOrphan, maxTries } from "./claim-turn.js";
import { takeOver } from "./take-over.js";

// A task is canceled by the process that runs its turn, which aborts the agent and stores what it still emits. This process
// only puts a cancel into the inbox and follows the log. Without a turn, or when its process has gone, it cancels the task by
// a write of its own.

/**
 * CancelTask (spec 3.1.5). Answers with the task in its terminal state, whichever that is, or as it is when its holder has
 * not ended it within the grace period and two polls. Throws `taskNotCancelable` for a task that had already ended.
 */
export async function cancelTask(runtime: Runtime, request: CancelTaskRequest, scope: Scope): Promise<Task> {
  const { id } = request;
  for (let tries = 0; tries < maxTries; tries++) {
    const storedTask = await runtime.store.read(scope, id);
    if (storedTask === undefined) throw taskNotFound(id);
    if (isTerminal(storedTask.head.state)) {
      if (tries > 0) break;
      throw new A2AError("taskNotCancelable", "the task has already ended", { metadata: { taskId: id } });
    }
    if (await tryCancel(runtime, storedTask)) break;
  }
  return (await readStoredTask(runtime, { scope, id })).task;
}

// Returns false when the task must be read again.
async function tryCancel(runtime: Runtime, storedTask: StoredTask): Promise<boolean> {
  const isLost = await isOrphan(runtime, storedTask);
  // A turn is not re-run only to be canceled.
  if (isLost && !runtime.restartable) {
    await takeOver(runtime, storedTask);
    return false;
  }
  if (isLost || storedTask.head.holder === "")
    return endWithoutTurn(runtime, storedTask, { state: TaskState.CANCELED });
  return askHolder(runtime, storedTask.head);
}

// Puts a cancel into the inbox and waits for the end. Returns false when the task no longer has a holder.
async function askHolder(runtime: Runtime, head: Head): Promise<boolean> {
  const { store, signals, clock, limits } = runtime;
  const reader = new RecordReader(runtime, head, head.seq);
  // A dead holder is noticed by its expired lease, and a lost hint by the next poll.
  const stop = clock.after(limits.graceMs + 2 * limits.pollMs, () => reader.close());
  try {
    const result = await store.put(head.key, { id: runtime.newId(), kind: "cancel" }, limits.inboxMaxMessages);
    if (result === "idle") return false;
    if (result === "stored") signals.publish({ kind: "inbox", taskId: head.id });
    for (;;) {
      const records = await reader.next();
      if (typeof records === "string") return true;
      const states = records.map(readState).filter((state) => state !== undefined);
      if (states.some(isTerminal)) return true;
    }
  } finally {
    stop();
    reader.close();
  }
}
