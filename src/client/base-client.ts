import { type Message as AnyMessage, create, type MessageInitShape } from "@bufbuild/protobuf";
import { createTransport, type OperationCaller } from "../binding/transport.js";
import type { Clock } from "../protocol/async/clock.js";
import { pause } from "../protocol/async/pause.js";
import { streamFrom } from "../protocol/async/steps.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { idempotentSendExtension, resumeExtension } from "../protocol/extensions.js";
import {
  type A2AService,
  type AgentCard,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
  TaskState,
  typeNames,
} from "../protocol/model.js";
import {
  invoke,
  type Operation,
  type OperationName,
  type Operations,
  operations,
  type StreamItem,
} from "../protocol/operations.js";
import type { Content } from "../protocol/parts.js";
import { endsBlockingSend } from "../protocol/states.js";
import type { AgentAccess } from "./agent-access.js";
import { Answer, answerOf } from "./answer/answer.js";
import { AnswerStream } from "./answer/answer-stream.js";
import type { Connection } from "./connection.js";
import { isUnreachable } from "./failures.js";
import { declaresExtension } from "./interface-pool.js";
import type { ClientLimits, ClientOptions, FixedClientLimits } from "./options.js";
import { type Retries, withRetries } from "./retrying.js";
import { completeMessage, sendRequest } from "./send.js";
import { checkCallOptions, checkOperationOptions, type SendOptions, type TaskCallOptions } from "./send-options.js";
import type { ResumingStream, ResumingStreamOptions, StreamCall } from "./stream/resuming-stream.js";
import { type Allowance, pollPause, startAllowance, toTimeoutError } from "./timing.js";

// The client finds an agent by its card, calls it over one of its interfaces, retries what is safe to retry, and
// resumes broken streams.
//
//   call → interceptors → ResumingStream (streams) → withRetries → CardAccess → InterfacePool → InterfaceClient → transport
//
// `card/discovery.ts` finds the card, and `interface-pool.ts` makes an `InterfaceClient` for each interface with a known
// transport. `failures.ts` says what a failure leads to, for retries and for the choice of the interface.

type Methods = (typeof A2AService)["method"];

/** The eleven operations (spec 3.1). Requests may be plain objects with only the members that matter. */
export type ClientOperations = {
  readonly [K in OperationName]: (
    request: MessageInitShape<Methods[K]["input"]>,
    options?: CallOptions,
  ) => ReturnType<Operations<CallOptions>[K]>;
};

/** The parts of a client. */
export interface ClientParts {
  readonly access: AgentAccess;
  readonly clock: Clock;
  readonly limits: ClientLimits & FixedClientLimits;
  readonly retries: Retries;
  readonly options: ClientOptions;
  /** Aborts when the client is closed. */
  readonly closeSignal: AbortSignal;
  /** Fetches the card again, and the extended one with these operations. */
  readonly refresh: (operations: Operations<CallOptions>) => Promise<void>;
  readonly close: () => Promise<void>;
  /** Code of streams. Default: loaded with the first stream. */
  readonly resumingStream?: typeof ResumingStream | undefined;
}

/**
 * Calls one agent over any interface of its card: the eleven operations and helpers built on them. Retries calls that
 * are safe to repeat, and resumes broken streams.
 */
export class BaseClient {
  /** The eleven operations with complete request messages: a transport that can be wrapped or served again. */
  readonly operations: Operations<CallOptions>;
  readonly #parts: ClientParts;

  constructor(parts: ClientParts) {
    this.#parts = parts;
    this.operations = createTransport(wrapCaller(createCaller(parts), parts.options));
    for (const operation of operations) {
      const value = (request: Record<string, unknown>, options: CallOptions = {}) => {
        try {
          checkOperationOptions(options);
          return invoke(this.operations, operation, create(operation.input, request), options);
        } catch (error) {
          if (operation.streams) throw error;
          return Promise.reject(error);
        }
      };
      Object.defineProperty(this, operation.name, { value });
    }
  }

  /** The agent's card; the extended one if the agent gave it to this caller. */
  get card(): AgentCard {
    return this.#parts.access.card;
  }

  /** The interface in use, and the interfaces that were skipped and why; `undefined` before the first answer. */
  get connection(): Connection | undefined {
    return this.#parts.access.connection;
  }

  /**
   * Sends a message and waits for the answer: a reply, or a task that has ended or is interrupted (spec 3.1.1). If the
   * agent returns a task earlier, it waits as `wait()` does, unless `configuration.returnImmediately` is set. Throws
   * `deadlineExceeded` after `timeoutMs`; its metadata has `taskId` and `state` if the agent has created a task by
   * then.
   */
  async send(content: Content, options: SendOptions = {}): Promise<Answer> {
    // The id of the task is needed before the answer, or what follows an authorization.
    const follows = options.cancelOnAbort || this.#parts.options.onAuthRequired;
    if (follows && !options.configuration?.returnImmediately) return this.stream(content, options).answer;
    const allowance = this.#startAllowance(options);
    const answer = answerOf(await this.operations.sendMessage(sendRequest(content, options), allowance.next()));
    const { task } = answer;
    if (task === undefined || options.configuration?.returnImmediately || isStopped(task)) return answer;
    return this.#waitFor(task.id, task.status?.state, options, allowance);
  }

  /** Sends a message and streams the answer (spec 3.1.2). It is sent when the stream is first used. */
  stream(content: Content, options: SendOptions = {}): AnswerStream {
    const request = sendRequest(content, options);
    const continuesTask = request.message?.taskId !== "" && options.continue instanceof Answer;
    const known = continuesTask ? options.continue.task : undefined;
    return this.#answerStream(() => this.#send(request, options), known);
  }

  /**
   * Cancels a task (spec 3.1.5) and returns it: `canceled`, or still `working` if the agent needs time to stop. Throws
   * `taskNotCancelable` for a task that has ended, and `taskNotFound`.
   */
  async cancel(taskId: string, options: TaskCallOptions = {}): Promise<Answer> {
    checkCallOptions(options);
    const { tenant = "" } = options;
    const request = { $typeName: typeNames.CancelTaskRequest, id: taskId, tenant } as const;
    return answerOf(await this.operations.cancelTask(request, options));
  }

  /**
   * Follows a task until it ends (spec 3.1.6): yields the task as it is, then its events. Reading fails with
   * `taskNotFound` for an unknown task.
   */
  watch(taskId: string, options: TaskCallOptions = {}): AnswerStream {
    checkCallOptions(options);
    return this.#answerStream(() => {
      const allowance = this.#startAllowance(options);
      const items = this.#subscribe(taskId, options, allowance.next());
      const read = () => this.#read(taskId, options, allowance.next());
      return streamFrom(async () => (await import("./answer/past-task.js")).fallBackToTask(items, read));
    });
  }

  /**
   * Waits until a task has ended or is interrupted, by subscription, or by polling if the agent cannot stream. Returns
   * the task at that point. Throws `taskNotFound`, and `deadlineExceeded` after `timeoutMs`; its metadata has `taskId`
   * and the last known `state`.
   */
  async wait(taskId: string, options: TaskCallOptions = {}): Promise<Answer> {
    checkCallOptions(options);
    return this.#waitFor(taskId, undefined, options, this.#startAllowance(options));
  }

  async #waitFor(
    taskId: string,
    knownState: TaskState | undefined,
    options: TaskCallOptions,
    allowance: Allowance,
  ): Promise<Answer> {
    const { clock, limits, options: clientOptions, closeSignal } = this.#parts;
    let state = knownState ?? TaskState.UNSPECIFIED;
    try {
      try {
        const items = this.#subscribe(taskId, options, allowance.next());
        const answer = await this.#answerStream(() => untilStop(items)).answer;
        if (answer.task !== undefined && isStopped(answer.task)) return answer;
      } catch (error) {
        // An agent may lack subscriptions, or refuse one to an ended task, and reports that in many ways. So the task
        // is read instead, and an error of that read is thrown. The subscription has already waited for an agent that
        // cannot be reached.
        if (!(error instanceof A2AError) || isUnreachable(error)) throw error;
      }
      for (let polls = 1; ; polls++) {
        const task = await this.#read(taskId, options, allowance.next());
        if (isStopped(task)) return answerOf(task);
        state = task.status?.state ?? state;
        await pause(
          clock,
          Math.min(pollPause(polls, limits.pollMs), allowance.remainingMs()),
          options.signal,
          closeSignal,
        );
      }
    } catch (error) {
      throw toTimeoutError(error, { taskId, state }, { timeoutMs: options.timeoutMs ?? clientOptions.timeoutMs });
    }
  }

  #startAllowance(options: CallOptions): Allowance {
    const { clock, options: clientOptions } = this.#parts;
    return startAllowance({ ...options, timeoutMs: options.timeoutMs ?? clientOptions.timeoutMs }, clock);
  }

  #answerStream(open: () => AsyncIterable<StreamItem>, known?: Task): AnswerStream {
    return new AnswerStream(open, this.#parts.limits.replyMaxBytes, known);
  }

  #send(request: SendMessageRequest, options: SendOptions): AsyncIterable<StreamItem> {
    if (!options.cancelOnAbort) return this.operations.sendStreamingMessage(request, options);
    // Rarely needed, and loaded then.
    return streamFrom(async () => {
      const { sendCancelable } = await import("./stream/cancel-on-abort.js");
      return sendCancelable(this, request, options, this.#parts.clock);
    });
  }

  #subscribe(id: string, { tenant = "" }: TaskCallOptions, options: CallOptions): AsyncIterable<StreamItem> {
    return this.operations.subscribeToTask({ $typeName: typeNames.SubscribeToTaskRequest, id, tenant }, options);
  }

  #read(id: string, { tenant = "" }: TaskCallOptions, options: CallOptions): Promise<Task> {
    return this.operations.getTask({ $typeName: typeNames.GetTaskRequest, id, tenant }, options);
  }

  /** Fetches the card again and uses it from now on. A card that was passed as an object is kept. */
  async refreshCard(): Promise<AgentCard> {
    await this.#parts.refresh(this.operations);
    return this.card;
  }

  /** Closes all connections and ends all streams, so that the process can exit. */
  close(): Promise<void> {
    return this.#parts.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A client: the eleven operations and the helpers built on them. */
export type Client = BaseClient & ClientOperations;

// The client that a turn gets is a whole one. The core, which passes it on, must not know this room.
declare module "../protocol/turn-client.js" {
  interface TurnClient extends BaseClient, ClientOperations {}
}

/** Whether a task has ended or is interrupted. False if its state is unknown. */
function isStopped({ status }: Task): boolean {
  return endsBlockingSend(status?.state ?? TaskState.UNSPECIFIED);
}

async function* untilStop(items: AsyncIterable<StreamItem>): AsyncGenerator<StreamItem, void, undefined> {
  for await (const item of items) {
    yield item;
    const { payload } = item.response;
    if (payload.case !== "task" && payload.case !== "statusUpdate") continue;
    if (endsBlockingSend(payload.value.status?.state ?? TaskState.UNSPECIFIED)) return;
  }
}

/** Calls that pass the interceptors, whose code is loaded if there are any. */
function wrapCaller(caller: OperationCaller, options: ClientOptions): OperationCaller {
  if (!options.interceptors?.length && !options.onAuthRequired) return caller;
  let wrappedCaller: OperationCaller | undefined;
  const load = async () => {
    const { intercept } = await import("./interceptors.js");
    wrappedCaller ??= intercept(caller, options);
    return wrappedCaller;
  };
  return {
    unary: async (...call) => (await load()).unary(...call),
    stream: (...call) => streamFrom(async () => (await load()).stream(...call)),
  };
}

let LoadedStream: typeof ResumingStream | undefined;

/** The calls below the interceptors: retries for unary calls, and resumed streams. */
function createCaller(parts: ClientParts): OperationCaller {
  const { access, clock, limits, retries, closeSignal } = parts;
  const { extensions = [], sendOnce = true, timeoutMs, onRetry } = parts.options;
  const retrying = { retries, clock, closeSignal, onRetry };
  const firstAttempt = withRetries(access, { ...retrying, waits: true });
  const attempt = withRetries(access, { ...retrying, waits: false });
  const callExtensions = extensions.length === 0 ? undefined : [...new Set(extensions)];
  const sendExtensions = [...new Set([...extensions, idempotentSendExtension])];
  /** A call with the client's defaults, and a message with its id. */
  const complete = (operation: Operation, request: AnyMessage, options: CallOptions): StreamCall => {
    const isSend = operation.input === SendMessageRequestSchema;
    const isOnce = isSend && sendOnce && declaresExtension(access.card, idempotentSendExtension);
    const defaults = isOnce ? sendExtensions : callExtensions;
    return {
      operation,
      request: isSend ? completeMessage(request as SendMessageRequest) : request,
      options: {
        ...options,
        timeoutMs: options.timeoutMs ?? timeoutMs,
        extensions:
          options.extensions === undefined ? defaults : [...new Set([...(defaults ?? []), ...options.extensions])],
      },
    };
  };
  return {
    async unary(operation, request, options) {
      const call = complete(operation, request, options);
      return await firstAttempt.unary(operation, call.request, call.options);
    },
    stream(operation, request, options) {
      const signal = options.signal === undefined ? closeSignal : AbortSignal.any([options.signal, closeSignal]);
      const call = complete(operation, request, { ...options, signal });
      const streamOptions: ResumingStreamOptions = {
        firstAttempt,
        attempt,
        clock,
        streaming: access.card.capabilities?.streaming,
        numbers: declaresExtension(access.card, resumeExtension),
        isRepeatable: access.isRepeatable,
        maxBreaks: limits.streamBreaksMax,
        pollMs: limits.pollMs,
        snapshotTimeoutMs: limits.snapshotTimeoutMs,
      };
      const Stream = parts.resumingStream ?? LoadedStream;
      if (Stream !== undefined) return new Stream(streamOptions, call);
      return streamFrom(async () => {
        LoadedStream ??= (await import("./stream/resuming-stream.js")).ResumingStream;
        return new LoadedStream(streamOptions, call);
      });
    },
  };
}
