import { NoAnswer, StoreUnavailable } from "../../../src/core/store-failure.js";
import { A2AError } from "../../../src/protocol/errors.js";
import type { SendMessageRequest, SendMessageResponse, Task } from "../../../src/protocol/model.js";
import { endsBlockingSend } from "../../../src/protocol/states.js";
import { digestOf, shortDigestOf, statusOf } from "./digest.js";
import { StoreDown } from "./faulty-store.js";
import { digestMatchesShort } from "./follower.js";
import type { Journal } from "./journal.js";
import { ConnectionLost, type Process } from "./process.js";
import { refusal } from "./script.js";
import { isFair, type Weather } from "./weather.js";

/** Why a caller stopped waiting for its answer. */
export class Gone extends Error {}

/** Errors that mean a message was not taken and never will be. */
const refusals: ReadonlySet<string> = new Set(["unsupportedOperation", "resourceExhausted", "taskNotCancelable"]);

/** What an error says about the message that was sent. `undefined` if the error must not occur. */
export function meaningOf(error: unknown, weather: Weather, process: Process): "refused" | "unknown" | undefined {
  const code = error instanceof A2AError ? error.code : undefined;
  if (code !== undefined && refusals.has(code)) return "refused";
  if (error instanceof Gone || (error instanceof A2AError && error.message === refusal)) return "unknown";
  const lost = error instanceof ConnectionLost;
  if (process.leaving && (lost || code === "unavailable")) return "unknown";
  return (lost || isStoreDown(error) || wasTakenOver(error)) && !isFair(weather) ? "unknown" : undefined;
}

// While the process stood still, another one took over its idempotent send.
function wasTakenOver(error: unknown): boolean {
  return error instanceof A2AError && error.message.startsWith("the reply could not be stored");
}

function isStoreDown(error: unknown): boolean {
  if (error instanceof StoreDown || error instanceof NoAnswer) return true;
  return error instanceof StoreUnavailable && isStoreDown(error.cause);
}

/** The answer to a caller that knows its task by a name, translated to the task's id. */
export function underId(
  journal: Journal,
  { message }: SendMessageRequest,
  { payload }: SendMessageResponse,
): SendMessageResponse["payload"] {
  const name = message?.taskId ?? "";
  const id = journal.named.get(name);
  if (payload.case !== "task" || id === undefined) {
    journal.fail(`${name} is the name of no task, and was answered with ${payload.case}`);
    return payload;
  }
  const { history, status } = payload.value;
  const taskIds = [...history, ...(status?.message === undefined ? [] : [status.message])].map(({ taskId }) => taskId);
  for (const each of [payload.value.id, ...taskIds]) if (each !== name) journal.fail(`${name} was shown as ${each}`);
  return { case: "task", value: { ...payload.value, id } };
}

/** The last position in its log at which a task looked like the one received. */
export function positionOf(journal: Journal, task: Task, withoutHistory = false): number {
  const digests = journal.tasks.get(task.id)?.digests ?? [];
  const digest = withoutHistory ? shortDigestOf(task) : digestOf(task);
  const seq = withoutHistory
    ? digests.findLastIndex((each) => digestMatchesShort(each, digest))
    : digests.lastIndexOf(digest);
  if (seq < 1) journal.fail(`${task.id} was shown as it never was: ${digest}`);
  journal.show(task.id, seq);
  return seq;
}

/** Checks that a listed task has a status that it once had. */
export function checkListed(journal: Journal, task: Task): void {
  const listed = journal.tasks.get(task.id)?.digests.some((digest) => digest.startsWith(`${statusOf(task)}|`));
  if (listed !== true) journal.fail(`${task.id} was listed with a status that it never had`);
}

/** Checks that an answer shows the first stop after its message, or something later. */
export function checkAnswer(journal: Journal, messageId: string, task: Task, position: number): void {
  const record = journal.receipts.get(messageId);
  if (record?.task !== task.id) return journal.fail(`${messageId} was answered and not taken by ${task.id}`);
  const { records, states } = journal.tasks.get(task.id) ?? { records: [], states: [] };
  const stop = records.findIndex(({ kind }, index) => {
    if (index < record.seq) return false;
    return kind === "turnEnded" || (kind === "event" && endsBlockingSend(states[index + 1] ?? 0));
  });
  if (stop >= 0 && position >= stop) return;
  journal.fail(`${messageId} was answered at ${position}, before its stop at ${stop + 1}`);
}
