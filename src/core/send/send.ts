import type { SendMessageResponse } from "../../protocol/model.js";
import type { StreamItem } from "../../protocol/operations.js";
import { deliver } from "../ownership/claim.js";
import { type StreamStart, TaskStream } from "../read/task-stream.js";
import { eventIdMarker } from "../task/event-id.js";
import {
  afterRegistration,
  countTask,
  isOnce,
  openSend,
  registerOf,
  type SendCall,
  type SendRenderer,
  withRoom,
} from "./call.js";
import { sendOnce } from "./idempotent-send.js";
import { attach, streamRenderer } from "./stream.js";
import { unaryRenderer } from "./unary.js";

// Every send takes one path: validate, look for an earlier attempt's outcome, then start a turn or deliver to the task.
// A renderer produces the answer: one message or task, or a stream.

/** SendMessage (spec 3.1.1). */
export function sendMessage(call: SendCall): Promise<SendMessageResponse> {
  return holdShutdown({ ...call, waits: call.request.configuration?.returnImmediately !== true }, answer);
}

/** SendStreamingMessage (spec 3.1.2). A caller that passes an event id resumes after it and starts nothing. */
export function sendStreamingMessage(call: SendCall): AsyncIterable<StreamItem> {
  return new TaskStream(() => holdShutdown({ ...call, waits: true }, open), eventIdMarker(call.context));
}

const answer = (call: SendCall): Promise<SendMessageResponse> => send(call, unaryRenderer);
const open = async (call: SendCall): Promise<StreamStart> => (await attach(call)) ?? send(call, streamRenderer);

async function send<T>(call: SendCall, renderer: SendRenderer<T>): Promise<T> {
  if (isOnce(call)) return sendOnce(call, renderer);
  const start = openSend(call);
  const register = await registerOf(call, start.entry);
  if (start.send.message.taskId !== "")
    return afterRegistration(
      register,
      renderer.answerDelivery({ call, start, register }, await deliver(call.runtime, start)),
    );
  const message = { call: call.context.quota === undefined ? call : await countTask(call), start, register };
  return afterRegistration(
    register,
    withRoom(message.call, () => renderer.answerNew(message)),
  );
}

/** Delivers a message. A shutdown waits for the delivery and for the turn that follows. */
async function holdShutdown<T>(call: SendCall, run: (call: SendCall) => Promise<T>): Promise<T> {
  const releaseShutdown = call.runtime.turns.holdShutdown();
  try {
    return await run({ ...call, releaseShutdown });
  } finally {
    releaseShutdown();
  }
}
