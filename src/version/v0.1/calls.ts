import { create } from "@bufbuild/protobuf";
import { type Clock, callerClock } from "../../protocol/async/clock.js";
import { pause } from "../../protocol/async/pause.js";
import { type Growth, grownPause } from "../../protocol/async/retry.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError, ConnectionError } from "../../protocol/errors.js";
import { randomUuid } from "../../protocol/id/random-uuid.js";
import { GetTaskRequestSchema, type SendMessageRequest, type Task, TaskState } from "../../protocol/model.js";
import type { Operations } from "../../protocol/operations.js";
import { isStop } from "../../protocol/states.js";
import { type SubscriptionSource, V01Subscription } from "./subscription.js";

// Client-side emulation of what agents of 0.1 lack.

type Transport = Operations<CallOptions>;

const pauses: Growth = { firstMs: 200, maxMs: 2_000, factor: 1.5 };
/** Consecutive connection failures after which polling stops. */
const maxBreaks = 5;

/**
 * A transport to an agent of 0.1. The caller names tasks. A send waits for its task even if the agent answers early. A
 * subscription begins with the task.
 */
export function callV01(transport: Transport, clock: Clock = callerClock): Transport {
  const source: SubscriptionSource = { transport, refusal: undefined };
  return {
    ...transport,
    async sendMessage(request, options) {
      const deadline = options.timeoutMs === undefined ? undefined : clock.now() + options.timeoutMs;
      const reply = await transport.sendMessage(withIds(request), options);
      const { payload } = reply;
      const { returnImmediately = false, historyLength } = request.configuration ?? {};
      if (returnImmediately || payload.case !== "task" || isAnswer(payload.value)) return reply;
      const call = { transport, options, deadline, clock, historyLength };
      return { ...reply, payload: { case: "task", value: await pollUntilAnswer(payload.value, call) } };
    },
    sendStreamingMessage: (request, options) => transport.sendStreamingMessage(withIds(request), options),
    subscribeToTask: (request, options) => new V01Subscription(source, request, options),
  };
}

/** Adds a task id and a session id to a request that has none: in 0.1 the caller chooses them. */
function withIds(request: SendMessageRequest): SendMessageRequest {
  const { message } = request;
  if (message === undefined || (message.taskId !== "" && message.contextId !== "")) return request;
  // A known task keeps its session.
  const contextId = message.contextId || (message.taskId === "" ? randomUuid() : "");
  return { ...request, message: { ...message, contextId, taskId: message.taskId || randomUuid() } };
}

/** Whether a send may return a task. `unknown` is a final state in 0.1. */
function isAnswer({ status }: Task): boolean {
  return status === undefined || status.state === TaskState.UNSPECIFIED || isStop(status.state);
}

interface PolledCall {
  readonly transport: Transport;
  readonly options: CallOptions;
  readonly deadline: number | undefined;
  readonly clock: Clock;
  readonly historyLength: number | undefined;
}

/** Polls a task until a send may return it. Returns the task as sent if the agent cannot be polled. */
async function pollUntilAnswer(task: Task, call: PolledCall): Promise<Task> {
  const { options, clock, historyLength } = call;
  const request = create(GetTaskRequestSchema, { id: task.id, historyLength });
  let breaks = 0;
  for (let tries = 1; ; tries++) {
    const pauseMs = grownPause(tries, pauses);
    await pause(clock, Math.min(pauseMs, timeLeft(call) ?? pauseMs), options.signal);
    const timeoutMs = timeLeft(call);
    if (timeoutMs === 0) {
      throw new A2AError("deadlineExceeded", `the task was not done within ${options.timeoutMs} ms`, {
        metadata: { taskId: task.id },
      });
    }
    try {
      const current = await call.transport.getTask(request, { ...options, timeoutMs });
      if (isAnswer(current)) return current;
      breaks = 0;
    } catch (error) {
      if (isSilent(error)) return task;
      if (!isBreak(error) || ++breaks >= maxBreaks) throw afterSend(error);
    }
  }
}

const silentCodes: ReadonlySet<string> = new Set(["methodNotFound", "taskNotFound", "unsupportedOperation"]);

// The agent cannot return the task: it has no such method or does not know the id.
function isSilent(error: unknown): boolean {
  return error instanceof A2AError && silentCodes.has(error.code);
}

function isBreak(error: unknown): boolean {
  return error instanceof A2AError && error.code === "unavailable";
}

// The message was delivered, so the error must not look like that of a send that is safe to retry.
function afterSend(error: unknown): unknown {
  if (!isBreak(error) || !(error instanceof Error)) return error;
  return new ConnectionError(`the message was sent, but its task cannot be read: ${error.message}`, {
    cause: error,
    written: true,
  });
}

function timeLeft({ deadline, clock }: PolledCall): number | undefined {
  return deadline === undefined ? undefined : Math.max(0, deadline - clock.now());
}
