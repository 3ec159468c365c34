import { foldStored } from "../../../src/core/fold.js";
import { TaskState } from "../../../src/protocol/model.js";
import { isInterrupted, isTerminal } from "../../../src/protocol/states.js";
import type { TaskHistory } from "./journal.js";
import { isFair, isPrompt } from "./weather.js";
import type { World } from "./world.js";

const scope = { tenant: "", owner: "alice" };

/** When all have had the time to find out what happened to the others: no task is at work with nobody behind it. */
export async function checkHolders(world: World): Promise<void> {
  for (const history of world.journal.tasks.values()) {
    if (!isTerminal(stateOf(history))) await checkHolder(world, history);
  }
}

async function checkHolder({ journal, store, running, receiving }: World, history: TaskHistory): Promise<void> {
  const { id, key } = history;
  const { entries } = await store.inbox(key);
  const { holder, holderLive } = (await store.head(scope, id)) ?? { holder: "nobody", holderLive: false };
  const state = stateOf(history);
  if (holder === "") {
    if (!isInterrupted(state)) journal.fail(`${id} is in state ${state}, and nobody works on it`);
    if (entries.length > 0) journal.fail(`${id} is idle, and ${entries.length} messages wait for it`);
    return;
  }
  const behind = running.get(id)?.some((process) => process.state === "up");
  if (!holderLive || behind !== true)
    journal.fail(`${id} is in state ${state}, held by ${holder}, and nobody works on it`);
  if (receiving.has(id) && entries.length > 0) journal.fail(`${id} waits for a message, and one waits for it`);
}

/** When all tasks have been ended: every call is answered, every message taken or refused, and nothing is left. */
export async function checkEnd(world: World): Promise<void> {
  const { journal, open, sends, running, waiting, processes } = world;
  for (const call of open) journal.fail(`${call} was never answered`);
  for (const history of journal.tasks.values()) await checkTask(world, history);
  for (const [messageId, outcome] of sends) {
    const taken = journal.taken.has(messageId);
    if (outcome === "answered" && !taken) journal.fail(`${messageId} was accepted and never taken`);
    if (outcome === "refused" && taken) journal.fail(`${messageId} was refused and taken`);
    if (outcome === "replied" && taken) journal.fail(`${messageId} was replied to and taken by a task`);
  }
  for (const once of world.onceSends) once.checkEnd();
  for (const [id, by] of running) {
    if (waiting.has(id) && by.some(({ state }) => state === "up"))
      journal.fail(`the agent of ${id} was never told of its end`);
  }
  for (const { name, timers } of processes) {
    if (timers !== 1) journal.fail(`${name} has ${timers} timers when nothing is left to do but its heartbeat`);
  }
}

async function checkTask({ journal, store, weather }: World, history: TaskHistory): Promise<void> {
  const { id, records, digests, task } = history;
  if (!isTerminal(stateOf(history))) journal.fail(`${id} was canceled and goes on in state ${stateOf(history)}`);
  const stored = await store.read(scope, id);
  if (stored === undefined) return journal.fail(`${id} is gone`);
  if (stored.head.seq !== records.length)
    journal.fail(`${id} has ${stored.head.seq} records, ${records.length} were written`);
  if (digests.length !== records.length + 1) journal.fail(`${id} lost count`);
  const told = toText(foldStored(stored));
  if (told !== toText(task)) journal.fail(`${id} is stored as ${told}`);
  const stays = weather.leaves ? isPrompt(weather) : isFair(weather);
  if (stays && told.includes("has gone")) journal.fail(`${id} was taken from a process that was there`);
}

const toText = (task: TaskHistory["task"]): string =>
  JSON.stringify(task, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value));

function stateOf({ states }: TaskHistory): TaskState {
  return states.at(-1) ?? TaskState.UNSPECIFIED;
}
