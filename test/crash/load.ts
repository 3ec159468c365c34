import { type Task, TaskState } from "../../src/protocol/model.js";
import { isTerminal } from "../../src/protocol/states.js";
import type { Random } from "../core/simulator/random.js";
import { attempt } from "./callers.js";
import { bindings, type CrashBinding } from "./ledger.js";
import type { Scene } from "./scene.js";
import { cancel, mayHaveEnded, send, stream, subscribe, whileSubscribed } from "./sends.js";

/**
 * Has callers work until something is done: one for each binding that is given. Rejects at once when one of them or the deed
 * fails, or when the test is over. Nobody goes on then.
 */
export async function underLoad(
  scene: Scene,
  callers: readonly CrashBinding[],
  deed: (isOver: () => boolean) => Promise<void>,
): Promise<void> {
  let isOver = false;
  const workers = callers.map((binding) => work(scene, binding, scene.random.fork(), () => isOver));
  // Without a failure it stays pending.
  const failed = new Promise<never>((_, reject) => {
    for (const worker of workers) worker.catch(reject);
    scene.signal?.addEventListener("abort", () => reject(scene.signal?.reason), { once: true });
  });
  try {
    await Promise.race([deed(() => isOver), failed]);
  } finally {
    isOver = true;
  }
  await Promise.race([Promise.all(workers), failed]);
}

/** One caller: starts one action after another over its binding until told to stop. */
async function work(scene: Scene, binding: CrashBinding, random: Random, stopped: () => boolean): Promise<void> {
  while (!stopped()) await random.pick(deeds)(scene, { binding, other: random.pick(bindings), random });
}

interface Deed {
  readonly binding: CrashBinding;
  /** The binding over which another caller follows the same task. */
  readonly other: CrashBinding;
  readonly random: Random;
}

const chunks = (random: Random): string => `chunks ${random.int(1, 60)} ${random.int(0, 6)}`;

const deeds: readonly [Do, ...Do[]] = [
  waiting,
  immediate,
  streaming,
  asking,
  conversing,
  notified,
  canceling,
  replied,
  parked,
];
type Do = (scene: Scene, deed: Deed) => Promise<unknown>;

function waiting(scene: Scene, { binding, random }: Deed): Promise<unknown> {
  return send(scene, binding, chunks(random), {});
}

async function immediate(scene: Scene, { binding, other, random }: Deed): Promise<void> {
  const task = await send(scene, binding, chunks(random), { configuration: { returnImmediately: true } });
  if (task !== undefined) await subscribe(scene, other, task);
}

function streaming(scene: Scene, { binding, random }: Deed): Promise<unknown> {
  return stream(scene, binding, chunks(random), {});
}

function parked(scene: Scene, { binding, random }: Deed): Promise<unknown> {
  return stream(scene, binding, `park ${random.int(1, 20)} ${random.int(0, 6)}`, {});
}

async function asking(scene: Scene, deed: Deed): Promise<void> {
  const task = await send(scene, deed.binding, `ask 0 ${deed.random.int(0, 4)}`, {});
  if (task?.status?.state === TaskState.INPUT_REQUIRED) await answering(scene, deed, task, chunks(deed.random));
}

async function conversing(scene: Scene, deed: Deed): Promise<void> {
  const task = await send(scene, deed.binding, `converse 0 ${deed.random.int(0, 4)}`, {});
  if (task?.status?.state === TaskState.INPUT_REQUIRED) await answering(scene, deed, task, chunks(deed.random));
}

// Answers a question while another caller follows the task.
async function answering(scene: Scene, { binding, other, random }: Deed, task: Task, text: string): Promise<void> {
  const how = random.pick(["waits", "does not wait", "streams"] as const);
  const configuration = { returnImmediately: how === "does not wait" };
  const before = { taskId: task.id, contextId: task.contextId };
  const answered =
    how === "streams"
      ? stream(scene, binding, text, { continue: before }, ...mayHaveEnded)
      : send(scene, binding, text, { continue: before, configuration }, ...mayHaveEnded);
  await whileSubscribed(scene, other, task, answered);
}

async function notified(scene: Scene, { binding, random }: Deed): Promise<void> {
  const path = `/inline-${random.int(0, 2 ** 40)}`;
  const url = new URL(path, scene.webhook.url).href;
  const configuration = { taskPushNotificationConfig: { url, id: "inline", token: "t" } };
  const knownTask = await stream(scene, binding, chunks(random), { configuration });
  knownTask?.configured.push({ path, fromStart: true });
}

async function canceling(scene: Scene, deed: Deed): Promise<void> {
  const { binding, other, random } = deed;
  const text = `hold 0 ${random.int(0, 4)}`;
  const task = await send(scene, binding, text, { configuration: { returnImmediately: true } });
  if (task === undefined) return;
  await whileSubscribed(scene, other, task, ending(scene, deed, task));
}

async function ending(scene: Scene, deed: Deed, task: Task): Promise<true> {
  const { random } = deed;
  if (random.chance(0.5)) await configure(scene, deed, task);
  await cancel(scene, random.pick(bindings), task);
  return true;
}

async function configure({ callers, ledger, webhook }: Scene, { binding, random }: Deed, task: Task): Promise<void> {
  const path = `/later-${random.int(0, 2 ** 40)}`;
  const config = { taskId: task.id, id: "later", url: new URL(path, webhook.url).href, token: "t" };
  const create = () => callers.of[binding].createTaskPushNotificationConfig(config);
  const createdConfig = await attempt(ledger, "a push configuration", create);
  // A configuration created after the task's end is owed nothing.
  const then = await attempt(ledger, "a task", () => callers.of[binding].getTask({ id: task.id }));
  if (createdConfig === undefined || then === undefined || isTerminal(then.status?.state ?? TaskState.UNSPECIFIED))
    return;
  ledger.task(task).configured.push({ path, fromStart: false });
}

function replied(scene: Scene, { binding, random }: Deed): Promise<unknown> {
  return send(scene, binding, `reply 0 ${random.int(0, 10)}`, {});
}
