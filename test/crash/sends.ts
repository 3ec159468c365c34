import { sendRequest } from "../../src/client/send.js";
import type { SendOptions } from "../../src/client/send-options.js";
import { type Message, type Task, TaskState } from "../../src/protocol/model.js";
import type { StreamItem } from "../../src/protocol/operations.js";
import { isTerminal } from "../../src/protocol/states.js";
import { contentOf } from "../support/answers.js";
import { attempt, type Expected } from "./callers.js";
import type { CrashBinding, KnownTask, Ledger, Seen, Sent } from "./ledger.js";
import type { Scene } from "./scene.js";

// Calls that are recorded in the ledger with their answers.

/** The error of any later call on a task that ended because its process died. */
export const mayHaveEnded: readonly Expected[] = ["unsupportedOperation"];

/** Cancels a task. */
export async function cancel({ callers, ledger }: Scene, binding: CrashBinding, { id }: { id: string }): Promise<void> {
  const call = () => callers.of[binding].cancelTask({ id });
  const task = await attempt(ledger, `canceling ${id}`, call, "taskNotCancelable");
  if (task?.status?.state !== TaskState.CANCELED) return;
  const knownTask = ledger.task(task);
  knownTask.canceled = true;
  knownTask.last = task;
  ledger.tally.canceled++;
}

/** Sends a message and records the answer. Returns the task unless the answer was a message. */
export async function send(
  scene: Scene,
  binding: CrashBinding,
  text: string,
  options: SendOptions,
  ...expected: readonly Expected[]
): Promise<Task | undefined> {
  const record = noted(scene, binding, text, { options, streams: false });
  const answer = await attempt(scene.ledger, `a send over ${binding}`, () => sendAgain(scene, record), ...expected);
  if (answer === undefined) return undefined;
  answered(scene, record, answer);
  return answer.$typeName === "lf.a2a.v1.Task" ? answer : undefined;
}

/** Repeats a send. */
export async function sendAgain({ callers }: Scene, { binding, text, options }: Sent): Promise<Message | Task> {
  return contentOf(await callers.of[binding].send(text, options));
}

function noted(
  { ledger, name }: Scene,
  binding: CrashBinding,
  text: string,
  { options, streams }: { readonly options: SendOptions; readonly streams: boolean },
): Sent {
  const messageId = `${name}.${ledger.sent.length}`;
  const starts = options.continue === undefined;
  const record = { binding, text, options: { ...options, messageId }, starts, streams, answer: undefined };
  ledger.sent.push(record);
  return record;
}

export function answered({ ledger }: Scene, record: Sent, answer: Message | Task): void {
  ledger.pulse.beat();
  if (answer.$typeName === "lf.a2a.v1.Message") {
    record.answer = { reply: answer };
    ledger.tally.replies++;
    return;
  }
  const knownTask = ledger.task(answer);
  reached(ledger, record, knownTask);
  if (isTerminal(answer.status?.state ?? TaskState.UNSPECIFIED)) knownTask.last = answer;
}

function reached(ledger: Ledger, record: Sent, knownTask: KnownTask): void {
  record.answer = { taskId: knownTask.id };
  knownTask.messageIds.add(record.options.messageId);
  if (!record.starts) ledger.tally.followUps++;
}

/** Sends a message and records its stream in the ledger. */
export async function stream(
  scene: Scene,
  binding: CrashBinding,
  text: string,
  options: SendOptions,
  ...expected: readonly Expected[]
): Promise<KnownTask | undefined> {
  const record = noted(scene, binding, text, { options, streams: true });
  const items = scene.callers.of[binding].sendStreamingMessage(sendRequest(text, record.options));
  const followed = await follow(scene, { binding, items, what: "a stream" }, expected);
  // A further message may wait behind the turn that the stream shows, and is refused if the task ends first.
  if (followed !== undefined && (record.starts || followed.seen.ended))
    reached(scene.ledger, record, followed.knownTask);
  return followed?.knownTask;
}

/** Records a task's subscription in the ledger. */
export function subscribe(scene: Scene, binding: CrashBinding, { id }: Task, left?: AbortSignal): Promise<unknown> {
  const items = scene.callers.of[binding].subscribeToTask({ id }, { signal: left });
  return follow(scene, { binding, items, what: "a subscription", left }, mayHaveEnded);
}

/** Follows a task while an action runs on it. Stops if the action has no effect. */
export async function whileSubscribed(
  scene: Scene,
  binding: CrashBinding,
  task: Task,
  deed: Promise<unknown>,
): Promise<void> {
  const left = new AbortController();
  const followed = subscribe(scene, binding, task, left.signal);
  if ((await deed) === undefined || (await asksAgain(scene, binding, task))) left.abort();
  await followed;
}

// A re-run turn that already had its answer asks again and gets no answer.
async function asksAgain({ callers, ledger }: Scene, binding: CrashBinding, { id }: Task): Promise<boolean> {
  const resting = await attempt(ledger, `waiting for ${id}`, () => callers.of[binding].wait(id));
  return resting === undefined || !isTerminal(resting.task?.status?.state ?? TaskState.UNSPECIFIED);
}

interface Followed {
  readonly binding: CrashBinding;
  readonly items: AsyncIterable<StreamItem>;
  readonly what: string;
  /** Aborts when the rest is no longer needed. */
  readonly left?: AbortSignal | undefined;
}

// Records a stream in the ledger while the client keeps it open.
async function follow(
  { server, ledger }: Scene,
  { binding, items, what, left }: Followed,
  expected: readonly Expected[],
): Promise<{ readonly knownTask: KnownTask; readonly seen: Seen } | undefined> {
  const view: Seen = { binding, items: [], lives: new Set(), ended: false };
  let knownTask: KnownTask | undefined;
  const read = async (): Promise<void> => {
    for await (const item of items) {
      const { payload } = item.response;
      if (knownTask === undefined && payload.case === "task") {
        knownTask = ledger.task(payload.value);
        knownTask.seen.push(view);
      }
      view.items.push(item);
      ledger.pulse.beat();
      view.lives.add(server.life);
    }
    view.ended = true;
  };
  const readOn = (): Promise<void> =>
    read().catch((error: unknown) => {
      if (left?.aborted !== true) throw error;
    });
  await attempt(ledger, `${what} over ${binding}`, readOn, ...expected);
  if (view.lives.size > 1) ledger.tally.resumed++;
  return knownTask === undefined ? undefined : { knownTask, seen: view };
}
