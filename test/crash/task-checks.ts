import { isDeepStrictEqual } from "node:util";
import { equals } from "@bufbuild/protobuf";
import { type Task, TaskSchema, TaskState } from "../../src/protocol/model.js";
import type { StreamItem } from "../../src/protocol/operations.js";
import { isTerminal } from "../../src/protocol/states.js";
import { collect } from "../support/answers.js";
import { itemsOf } from "../support/items.js";
import { lineOf, textIn } from "../support/say.js";
import { bindings, type CrashBinding, type KnownTask, type Seen } from "./ledger.js";
import type { Scene } from "./scene.js";
import { stateOf } from "./settle.js";

/** The final text of a task whose process died: at once, or after all attempts. */
const goneOnce = /^the process that worked on the task has gone$/;
const goneAgain = /^the task was tried 4 times, and each time the process has gone$/;

/** Checks everything that was told about a task against what is stored. */
export async function checkTask(scene: Scene, knownTask: KnownTask): Promise<void> {
  const { callers, ledger, random } = scene;
  const fault = (text: string): void => void ledger.faults.push(`task ${knownTask.id}: ${text}`);
  const task = await callers.of[random.pick(bindings)].getTask({ id: knownTask.id });
  const state = stateOf(task);
  if (!isTerminal(state)) return fault(`is ${TaskState[state]} after all`);
  if (knownTask.canceled && state !== TaskState.CANCELED) fault(`was canceled and is ${TaskState[state]}`);
  if (knownTask.last !== undefined && !equals(TaskSchema, knownTask.last, task)) {
    fault(`was answered as ${shown(knownTask.last)} and is ${shown(task)}`);
  }
  const history = new Set(task.history.map(({ messageId }) => messageId));
  for (const messageId of knownTask.messageIds) {
    if (!history.has(messageId)) fault(`has lost the message ${messageId}: ${shown(task)}`);
  }
  if (task.contextId !== knownTask.contextId)
    fault(`was in context ${knownTask.contextId} and is in ${task.contextId}`);
  checkEnd(scene, task, fault);
  for (const view of knownTask.seen) await checkSeen(scene, task, view, fault);
}

type Fault = (text: string) => void;

function checkEnd({ ledger, restartable }: Scene, task: Task, fault: Fault): void {
  const texts = task.artifacts.map(({ parts }) => textIn(parts));
  for (const text of texts) {
    const places = text.split("\n").slice(0, -1).map(locationOf);
    const inOrder = places.every(({ index, attempt }, at) => index === at && attempt === places[0]?.attempt);
    if (!inOrder) fault(`holds chunks that do not follow on each other: ${places.map((place) => place.index)}`);
  }
  if (stateOf(task) !== TaskState.FAILED) return;
  const reason = textIn(task.status?.message?.parts);
  if ((restartable ? goneAgain : goneOnce).test(reason)) ledger.tally.takenOver++;
  else fault(`has failed, which no agent here does: ${reason}`);
}

const locationOf = (line: string): { readonly attempt: number; readonly index: number } => {
  const [attempt, index] = line.split(" ", 1).join("").split(":").map(Number);
  return { attempt: attempt ?? Number.NaN, index: index ?? Number.NaN };
};

// What a subscriber saw is a beginning of the log, and a resume after any event id gets the rest, each event once.
async function checkSeen(scene: Scene, task: Task, view: Seen, fault: Fault): Promise<void> {
  const { binding, items, ended } = view;
  const [first, ...shownItems] = items;
  if (first === undefined) return;
  if (items.some(({ recovered }) => recovered !== undefined)) fault(`${binding} has begun anew: ${lines(items)}`);
  const whole = await replay(scene, binding, task.id, first);
  scene.ledger.tally.replayed++;
  if (!isDeepStrictEqual(shownItems, whole.slice(0, shownItems.length))) {
    fault(`${binding} has shown what is not stored:\n${lines(items)}\n${lines(whole)}`);
  }
  if (ended && !endsWell(items.at(-1))) fault(`${binding} has ended a stream early: ${lines(items)}`);
  const twice = whole.filter(({ id }, at) => id === undefined || whole.findIndex((other) => other.id === id) !== at);
  if (twice.length > 0) fault(`${binding} gives an event twice, or without an id: ${lines(twice)}`);
  const other = scene.random.pick(bindings);
  const at = scene.random.int(0, items.length - 1);
  const rest = await replay(scene, other, task.id, items[at] ?? first);
  if (!isDeepStrictEqual(rest.map(describeItem), whole.slice(at).map(describeItem))) {
    fault(`${other} goes on behind event ${at} of ${lines([first, ...whole])} with ${lines(rest)}`);
  }
  await checkSum(task, [first, ...whole], fault);
}

// The first event shown and all later ones add up to the task.
async function checkSum(task: Task, items: readonly StreamItem[], fault: Fault): Promise<void> {
  const sum = await collect(streamOf(items));
  if (sum.$typeName !== "lf.a2a.v1.Task") return fault("is no task to a subscriber");
  if (!equals(TaskSchema, { ...sum, history: [] }, { ...task, history: [] })) {
    fault(`adds up to ${shown(sum)} and is ${shown(task)}`);
  }
}

async function* streamOf(items: readonly StreamItem[]): AsyncGenerator<StreamItem> {
  yield* items;
}

function replay({ callers }: Scene, binding: CrashBinding, id: string, { id: after }: StreamItem) {
  return itemsOf(callers.of[binding].subscribeToTask({ id }, { after }));
}

function endsWell(item: StreamItem | undefined): boolean {
  const { payload } = item?.response ?? { payload: { case: undefined } };
  if (payload.case !== "task" && payload.case !== "statusUpdate") return false;
  const state = payload.value.status?.state ?? TaskState.UNSPECIFIED;
  return isTerminal(state) || state === TaskState.INPUT_REQUIRED;
}

const describeItem = (item: StreamItem): string => `${item.id} ${lineOf(item)}`;
const lines = (items: readonly StreamItem[]): string => items.map(describeItem).join("\n  ");

function shown(task: Task): string {
  const history = task.history.map(({ messageId }) => messageId);
  const artifacts = task.artifacts.map(({ artifactId, parts }) => `${artifactId} of ${textIn(parts).length}`);
  return `${TaskState[stateOf(task)]} [${history}] [${artifacts}]`;
}
