import { isDeepStrictEqual } from "node:util";
import { toBinary } from "@bufbuild/protobuf";
import { foldStored } from "../../../src/core/task/fold.js";
import { ArtifactSchema, TaskSchema, TaskState } from "../../../src/protocol/model.js";
import { endsBlockingSend, isInterrupted, isTerminal } from "../../../src/protocol/states.js";
import type { TaskHistory } from "./journal.js";
import { isFair, isPrompt, keepsTasks } from "./weather.js";
import type { World } from "./world.js";

const scope = { agent: "", tenant: "", owner: "alice" };

/** Checks that no working task lacks a live holder, once takeovers have had time to happen. */
export async function checkHolders(world: World): Promise<void> {
  for (const history of world.journal.tasks.values()) {
    if (!isTerminal(stateOf(history))) await checkHolder(world, history);
  }
}

async function checkHolder(
  { journal, store, time, setMs, running, receiving, seats, weather }: World,
  history: TaskHistory,
): Promise<void> {
  const { id, key } = history;
  const { entries } = await store.inbox(key);
  const noHead = { holder: "nobody", holderLive: false, wakeAt: undefined };
  const { holder, holderLive, wakeAt } = (await store.head(scope, id)) ?? noHead;
  const state = stateOf(history);
  if (holder === "") {
    const late = wakeAt === undefined ? 0 : time.now() + setMs - wakeAt;
    if (late > 2000 + weather.skewMs) journal.fail(`${id} was to be woken ${late} ms ago`);
    if (!isInterrupted(state) && !history.parked) journal.fail(`${id} is in state ${state}, and nobody works on it`);
    if (entries.length > 0) journal.fail(`${id} is idle, and ${entries.length} messages wait for it`);
    return;
  }
  const behind = running.get(id)?.some((process) => process.state === "up");
  if (!holderLive || behind !== true)
    journal.fail(`${id} is in state ${state}, held by ${holder}, and nobody works on it`);
  const receives = [...receiving].some((turn) => turn.taskId === id && seats.get(turn)?.state === "up");
  if (receives && entries.some(({ kind }) => kind === "message"))
    journal.fail(`${id} waits for a message, and one waits for it`);
}

/**
 * Checks at the end, when all tasks have ended: every call is answered, every message taken or refused, and nothing is
 * left over.
 */
export async function checkEnd(world: World): Promise<void> {
  const { journal, open, sends, seats, waiting, processes } = world;
  for (const call of open) journal.fail(`${call} was never answered`);
  for (const history of journal.tasks.values()) await checkTask(world, history);
  for (const [messageId, outcome] of sends) {
    const isTaken = journal.receipts.has(messageId);
    if (outcome === "answered" && !isTaken) journal.fail(`${messageId} was accepted and never taken`);
    if (outcome === "refused" && isTaken) journal.fail(`${messageId} was refused and taken`);
    if (outcome === "replied" && isTaken) journal.fail(`${messageId} was replied to and taken by a task`);
  }
  const { weather } = world;
  if (isFair(weather) && !weather.leaves && !weather.crowded && journal.restarts > 0)
    journal.fail(`${journal.restarts} turns were run again whose process was there`);
  for (const once of world.onceSends) once.checkEnd();
  for (const turn of waiting) {
    if (seats.get(turn)?.state === "up") journal.fail(`the agent of ${turn.taskId} was never told of its end`);
  }
  for (const { name, timers } of processes) {
    // A clock that was set back lets an alarm wait for nothing.
    if (timers < 1 || timers > (weather.steps ? 2 : 1))
      journal.fail(`${name} has ${timers} timers when nothing is left to do but its heartbeat`);
  }
}

async function checkTask(world: World, history: TaskHistory): Promise<void> {
  const { journal, store, weather } = world;
  const { id, records, digests, task } = history;
  if (!isTerminal(stateOf(history))) journal.fail(`${id} was canceled and goes on in state ${stateOf(history)}`);
  const storedTask = await store.read(scope, id);
  if (storedTask === undefined) return journal.fail(`${id} is gone`);
  if (storedTask.head.seq !== records.length)
    journal.fail(`${id} has ${storedTask.head.seq} records, ${records.length} were written`);
  if (digests.length !== records.length + 1) journal.fail(`${id} lost count`);
  await checkConversation(world, history);
  const fold = foldStored(storedTask);
  const text = toText(fold);
  if (!isDeepStrictEqual(toBinary(TaskSchema, fold), toBinary(TaskSchema, task)))
    journal.fail(`${id} is stored as ${text}`);
  const stays = weather.leaves ? isPrompt(weather) : keepsTasks(weather);
  if (stays && text.includes("has gone")) journal.fail(`${id} was taken from a process that was there`);
  if (journal.answers.has(id) && text.includes("stored too late"))
    journal.fail(`${id} was the answer to a send, and was given up as refused`);
}

// Each message of the log once, in its order, and each artifact as it is at last.
async function checkConversation({ journal, store }: World, { id, records, task }: TaskHistory): Promise<void> {
  const page = await store.readConversation(scope, task.contextId, { limit: 10_000, maxBytes: 1 << 30 });
  const entries = page.filter(({ taskId }) => taskId === id);
  const expected = records.flatMap((record) => {
    if (record.kind === "message") return `user ${record.message.messageId}`;
    const { payload } = record.kind === "event" ? record.event : { payload: undefined };
    const status = payload?.case === "statusUpdate" ? payload.value.status : undefined;
    return status?.message !== undefined && endsBlockingSend(status.state) ? `agent ${status.message.messageId}` : [];
  });
  const entryNames = entries.flatMap((entry) => (entry.kind === "artifact" ? [] : `${entry.kind} ${entry.id}`));
  if (!isDeepStrictEqual(entryNames, expected)) {
    journal.fail(`${id} wrote ${expected.join(", ")}, and its conversation has ${entryNames.join(", ")}`);
  }
  for (const artifact of task.artifacts) {
    const last = entries.findLast(({ kind, id: itemId }) => kind === "artifact" && itemId === artifact.artifactId);
    const bytes =
      last?.content?.$typeName === ArtifactSchema.typeName ? toBinary(ArtifactSchema, last.content) : undefined;
    if (!isDeepStrictEqual(bytes, toBinary(ArtifactSchema, artifact))) {
      journal.fail(`${id} has the artifact ${artifact.artifactId}, and its conversation has another`);
    }
  }
}

const toText = (task: TaskHistory["task"]): string =>
  JSON.stringify(task, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value));

function stateOf({ states }: TaskHistory): TaskState {
  return states.at(-1) ?? TaskState.UNSPECIFIED;
}
