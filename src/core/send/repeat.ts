import { lastOf } from "../../protocol/fold.js";
import type { SendMessageResponse } from "../../protocol/model.js";
import type { Head } from "../ports.js";
import { foldLog } from "../read/past-task.js";
import { readTask } from "../read/read-task.js";
import { RecordReader } from "../read/record-reader.js";
import { type StreamStart, snapshotItem } from "../read/task-stream.js";
import { eventIdPrefix } from "../task/event-id.js";
import { createSendGate } from "./gate.js";
import { IdempotencyClaim } from "./idempotency-claim.js";
import { followTaken, type SendCall } from "./send.js";
import { again } from "./stream.js";
import { taskResponse } from "./wait.js";

/** What a send that comes again attaches to: its record, and the task that the first one has reached. */
export interface ReachedTask {
  readonly sent: IdempotencyClaim["record"];
  readonly head: Head;
}

/** The task as the first send would get it: at the stop behind its message, or at once when told so. */
export async function answerAgain(call: SendCall, { sent, head }: ReachedTask): Promise<SendMessageResponse> {
  const { historyLength, returnImmediately } = call.request.configuration ?? {};
  if (sent.seq === 0 && returnImmediately === true) {
    return taskResponse((await readTask(call.runtime, call.scope, head.id, { historyLength })).task);
  }
  const held = { ...call, idempotency: new IdempotencyClaim(call.runtime, sent) };
  return followTaken(held, head.id, { key: head.key, after: sent.seq, entry: sent.entry });
}

/** The stream as the first send got it, from its beginning; from now on where the log has gone. */
export async function streamAgain(call: SendCall, { sent, head }: ReachedTask): Promise<StreamStart> {
  const { runtime, request } = call;
  const { id, key, incarnation } = head;
  const historyLength = request.configuration?.historyLength;
  const { see } = createSendGate(sent.entry, "stream", sent.seq === 0);
  const begun = await foldLog(runtime, head, sent.seq === 0 ? "first event" : sent.seq);
  const restart = (): Promise<StreamStart> => again(call, id, see);
  if (begun === undefined) return restart();
  const idPrefix = eventIdPrefix(id, incarnation);
  const shown = { ...begun.task, history: lastOf(begun.task.history, historyLength) };
  const reader = new RecordReader(runtime, id, key, begun.seq);
  return { items: [snapshotItem(shown, idPrefix, begun.seq)], reader, idPrefix, see, restart };
}
