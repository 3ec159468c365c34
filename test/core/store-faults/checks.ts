import { foldStored } from "../../../src/core/task/fold.js";
import { TaskState } from "../../../src/protocol/model.js";
import { isInterrupted, isTerminal } from "../../../src/protocol/states.js";
import { storedLog } from "../../support/exact-subscriber.js";
import { internals } from "../../support/fault-store.js";
import { listenersOn } from "../../support/leaks.js";
import type { TaskHistory } from "../simulator/journal.js";
import type { Caller } from "./caller.js";
import type { Stage } from "./stage.js";

const scope = { agent: "", tenant: "", owner: "alice" };

/** Methods that an idle handler calls. */
const idle = new Set(["renew", "orphans", "due", "waiting", "otherTtls", "push.adopt"]);

/** Once the store has recovered and every lease could expire: no working task lacks a live holder. */
export async function checkHolders({ journal, store, running }: Stage): Promise<void> {
  for (const { id, key, states } of journal.tasks.values()) {
    const state = states.at(-1) ?? TaskState.UNSPECIFIED;
    if (isTerminal(state)) continue;
    const head = await store.head(scope, id);
    const { entries } = await store.inbox(key);
    if (head === undefined) journal.fail(`${id} is gone`);
    else if (head.holder === "") {
      if (!isInterrupted(state)) journal.fail(`${id} is in state ${TaskState[state]}, and nobody works on it`);
      if (entries.length > 0) journal.fail(`${id} is idle, and ${entries.length} messages wait for it`);
    } else if (!head.holderLive || !running.has(id))
      journal.fail(`${id} is in state ${TaskState[state]}, held by ${head.holder}, and nobody works on it`);
  }
}

/** Both handlers answer the next valid requests. */
export async function checkService(stage: Stage, caller: Caller): Promise<void> {
  for (const process of stage.processes) {
    const task = await caller.send(process, "count");
    if (task?.status?.state !== TaskState.COMPLETED) stage.fail(`${process.name} does not work any more`);
    const stream = await caller.stream(process, "count");
    if (stream.items.length !== 9) stage.fail(`${process.name} streams ${stream.items.length} items`);
  }
}

/** Everything acknowledged is stored, and subscribers saw what is stored. */
export async function checkStored(stage: Stage, caller: Caller): Promise<void> {
  const { journal, store } = stage;
  for (const history of journal.tasks.values()) await checkTask(stage, history);
  for (const [messageId, taskId] of caller.acknowledged) {
    if (journal.receipts.get(messageId)?.task !== taskId) journal.fail(`${messageId} was accepted and never taken`);
  }
  for (const subscriber of caller.subscribers) {
    if (subscriber.taskId === "") continue;
    const log = await storedLog(store, scope, subscriber.taskId);
    for (const difference of subscriber.differences(log)) journal.fail(`${log.id} was shown with ${difference}`);
  }
}

async function checkTask({ journal, store }: Stage, { id, records, task }: TaskHistory): Promise<void> {
  const storedTask = await store.read(scope, id);
  if (storedTask === undefined) return journal.fail(`${id} is gone`);
  if (storedTask.head.seq !== records.length)
    journal.fail(`${id} has ${storedTask.head.seq} records, ${records.length} were written`);
  const text = toText(foldStored(storedTask));
  if (text !== toText(task)) journal.fail(`${id} is stored as ${text}`);
  if (text.includes(internals)) journal.fail(`${id} tells its caller ${text}`);
}

/**
 * A subscriber that resumes at either handler gets the remaining events exactly once, and both handlers read them from
 * the store.
 */
export async function checkResume(stage: Stage, caller: Caller): Promise<void> {
  const { journal, plan, store, processes } = stage;
  for (const by of caller.subscribers.filter(({ lastId }) => lastId !== undefined)) {
    for (const process of processes) {
      const before = plan.calls.length;
      await caller.subscribe(process, by.taskId, { by });
      if (!plan.calls.slice(before).includes("recordsAfter"))
        journal.fail(`${process.name} still holds the task ${by.taskId}`);
    }
    const log = await storedLog(store, scope, by.taskId);
    for (const each of by.differences(log, true)) journal.fail(`${by.taskId} was shown again with ${each}`);
  }
}

/** When all tasks have ended only the heartbeat is left, and after closing nothing. */
export async function checkLeft(stage: Stage): Promise<void> {
  const { journal, plan, listeners, signals, open, running, time } = stage;
  for (const owed of stage.webhooks.missing(journal)) journal.fail(owed);
  // Abandoned tasks are checked for a while.
  await time.advance(35_000);
  const before = plan.calls.length;
  await time.advance(10_000);
  const busy = plan.calls.slice(before).filter((method) => !idle.has(method));
  if (busy.length > 0) journal.fail(`nothing is left to do, and the store is asked ${busy.join()}`);
  for (const [id] of running) journal.fail(`the agent of ${id} was never told of its end`);
  const { processes, idleTimers } = stage;
  for (const { name, timers } of processes)
    if (timers !== idleTimers) journal.fail(`${name} has ${timers} timers, and nothing to do`);
  const closed = Promise.all(processes.map((process) => stage.close(process)));
  if (!(await stage.turn(closed, 100_000))) journal.fail("the handlers do not close");
  for (const { name, timers } of [stage.here, stage.there])
    if (timers > 0) journal.fail(`${name} leaves ${timers} timers behind`);
  if (listeners.size > 0) journal.fail(`${listeners.size} listeners wait for hints`);
  if (signals.some((signal) => listenersOn(signal) > 0)) journal.fail("somebody still listens whether a caller leaves");
  for (const call of open) journal.fail(`${call} was never answered`);
}

const toText = (value: object): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? Number(each) : each));
