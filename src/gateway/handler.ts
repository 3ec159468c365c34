import { type Message as AnyMessage, create, isMessage } from "@bufbuild/protobuf";
import { requestIdParameter } from "../binding/request-id.js";
import type { ProcessLoad } from "../core/process-load.js";
import { createIdleCounter, type IdleCounter } from "../protocol/async/idle-counter.js";
import { createStepStream, endStep, type Step, type StepStream, streamFrom } from "../protocol/async/steps.js";
import { dynamic } from "../protocol/codec/outline/dynamic.js";
import type { CallOptions, CallProgress, Principal, ServerContext } from "../protocol/context.js";
import { A2AError, invalidParams } from "../protocol/errors.js";
import { resumeExtension, withEventId } from "../protocol/extensions.js";
import {
  GetTaskRequestSchema,
  ListTaskPushNotificationConfigsResponseSchema,
  type Message,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  TaskPushNotificationConfigSchema,
} from "../protocol/model.js";
import {
  findOperation,
  invokeStream,
  invokeUnary,
  type Operation,
  type OperationName,
  type Operations,
  operations,
  type StreamItem,
} from "../protocol/operations.js";
import { withoutSecrets } from "../protocol/push-secrets.js";
import { AccountedAnswer } from "./accounted-answer.js";
import { isOutage, isUnsent, toCallerError } from "./failures.js";
import type { Upstream } from "./upstream.js";

// The handler of a gateway: every operation of the table becomes a call of the agent behind it. A call passes the
// pipeline of a server first, and then that of a client. In between, this file does five things in this order:
//
// 1. `admit` refuses what the agent would do differently than its caller expects.
// 2. `checkSkills` reads the task of an answer, since only the agent knows the skills of its earlier messages.
// 3. `callOptions` passes on the caller's headers, extensions, position in a stream and remaining time.
// 4. `AccountedAnswer` books what the agent answers until it is decoded.
// 5. `translateFailure` turns a failure of the gateway's own call into the caller's error (`failures.ts`), and says
//    whether the call may be repeated: only one that the gateway has not sent.
//
// A gateway stores no tasks. A stream that breaks behind it is resumed by its client, and one that breaks in front of it
// by the caller, whose event id goes on to the agent.

/** Dependencies of the gateway's calls. */
export interface ForwardingOptions {
  readonly upstream: Upstream;
  /** The caller's headers to forward. */
  readonly selectHeaders: (principal: Principal) => Readonly<Record<string, string>>;
  /** Whether webhooks registered by callers of this version get their own dialect. */
  readonly pushes: (version: string) => boolean;
  readonly load?: ProcessLoad | undefined;
  /** Time limit of the gateway's own calls in milliseconds. Default: none. */
  readonly timeoutMs?: number | undefined;
}

/** Learns which task a stream belongs to. */
interface StreamWatch {
  /** Called with the task's id for each event that has one. */
  onTask(taskId: string): void;
  /** Called when the stream has ended or its reader has left. */
  onEnd(): void;
}

/** Operations that call an agent elsewhere. */
export interface ForwardedOperations {
  readonly operations: Operations<ServerContext>;
  /** Sends a message and watches its stream. */
  stream(request: SendMessageRequest, context: ServerContext, watch: StreamWatch): AsyncIterable<StreamItem>;
  /** The calls that are active. */
  readonly activeCalls: IdleCounter;
}

/** Turns every operation of the table into a call to the upstream agent. */
export function forwardOperations(calls: ForwardingOptions): ForwardedOperations {
  const { client, refreshIfStale } = calls.upstream;
  const activeCalls = createIdleCounter();
  /** `progress`: of a call that must not be repeated once the gateway has sent it. */
  const translateFailure = (
    error: unknown,
    progress: CallProgress | undefined,
    { refusal }: AccountedAnswer,
  ): unknown => {
    if (progress !== undefined && !isUnsent(error)) progress.begun = true;
    if (refusal !== undefined) return refusal;
    if (isOutage(error)) refreshIfStale();
    return toCallerError(error);
  };
  const forward = async <T>(
    context: ServerContext,
    progress: CallProgress | undefined,
    call: (options: CallOptions) => Promise<T>,
  ): Promise<T> => {
    const leave = activeCalls.enter();
    const answer = new AccountedAnswer(context);
    try {
      return await answer.run(() => call(callOptions(calls, context, answer.signal)));
    } catch (error) {
      throw context.signal.aborted ? callerLeft(error) : translateFailure(error, progress, answer);
    } finally {
      answer.end();
      leave();
    }
  };
  const unary = async (operation: Operation, request: AnyMessage, context: ServerContext): Promise<AnyMessage> => {
    const admittedRequest = admit(calls, operation, request, context);
    if (answeredTask(request, context) !== undefined) await checkSkills(request, context);
    const reply = await forward(context, context.progress, (options) =>
      invokeUnary(client.operations, operation, admittedRequest, options),
    );
    return hideSecrets(reply);
  };
  // The gateway has no tasks: only the agent knows the skills of a task's messages.
  const checkSkills = async (request: AnyMessage, context: ServerContext): Promise<void> => {
    const id = answeredTask(request, context);
    if (id !== undefined) context.chain?.authorizeAnswer?.(await readEarlier(id, context));
  };
  /** The callers' messages of a task; `undefined` when the agent does not return them. Empty for an unknown task. */
  const readEarlier = async (id: string, context: ServerContext): Promise<readonly Message[] | undefined> => {
    const request = create(GetTaskRequestSchema, { id });
    try {
      const { history } = await forward(context, undefined, (options) => client.operations.getTask(request, options));
      const messages = history.filter(({ role }) => role === Role.USER);
      return messages.length === 0 ? undefined : messages;
    } catch (error) {
      if (error instanceof A2AError && error.code === "taskNotFound") return [];
      throw error;
    }
  };
  const stream = (operation: Operation, request: AnyMessage, context: ServerContext, watch?: StreamWatch) => {
    const admittedRequest = admit(calls, operation, request, context);
    const open = () => {
      const answer = new AccountedAnswer(context);
      const options = callOptions(calls, context, answer.signal);
      const items = invokeStream(client.operations, operation, admittedRequest, options);
      return forwardStream(items, {
        marks: context.extensions.includes(resumeExtension),
        signal: context.signal,
        answer,
        enter: activeCalls.enter,
        translateFailure: (error) => translateFailure(error, context.progress, answer),
        watch,
      });
    };
    if (answeredTask(request, context) === undefined) return open();
    return streamFrom(async () => {
      await checkSkills(request, context);
      return open();
    });
  };
  const entries = operations.map((operation) => {
    const call = operation.streams ? stream : unary;
    return [
      operation.name,
      (request: AnyMessage, context: ServerContext) => call(operation, request, context),
    ] as const;
  });
  return {
    operations: Object.fromEntries(entries) as Record<OperationName, AnyCall>,
    stream: (request, context, watch) => stream(findOperation("sendStreamingMessage"), request, context, watch),
    activeCalls,
  };
}

interface PassedStreamOptions {
  /** Events carry their ids in their metadata. */
  readonly marks: boolean;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
  /** Books what arrives of the next event. */
  readonly answer: AccountedAnswer;
  /** Counts the stream as active from its first event until the returned function is called. */
  readonly enter: () => () => void;
  /** Converts a failure into the caller's error. */
  readonly translateFailure: (error: unknown) => unknown;
  readonly watch?: StreamWatch | undefined;
}

/** A stream of the upstream agent, read as the caller reads it. Leaving it closes the agent's at once. */
function forwardStream(
  source: AsyncIterable<StreamItem>,
  { marks, signal, answer, enter, translateFailure, watch }: PassedStreamOptions,
): StepStream<StreamItem> {
  const items = source[Symbol.asyncIterator]();
  let exit: (() => void) | undefined;
  const end = (): Step<StreamItem> => {
    answer.end();
    exit?.();
    watch?.onEnd();
    return endStep;
  };
  const next = async (): Promise<Step<StreamItem>> => {
    exit ??= enter();
    try {
      const step = await answer.run(() => items.next());
      answer.release();
      if (step.done === true) return end();
      notify(watch, step.value);
      return { done: false, value: marks ? markItem(step.value) : step.value };
    } catch (error) {
      end();
      if (signal.aborted) return endStep;
      throw translateFailure(error);
    }
  };
  return createStepStream(next, async () => {
    await items.return?.();
    end();
  });
}

function notify(watch: StreamWatch | undefined, { response: { payload } }: StreamItem): void {
  if (watch === undefined || payload.case === undefined || payload.case === "message") return;
  const taskId = payload.case === "task" ? payload.value.id : payload.value.taskId;
  if (taskId !== "") watch.onTask(taskId);
}

function markItem(item: StreamItem): StreamItem {
  return item.id === undefined ? item : { ...item, response: withEventId(item.response, item.id) };
}

/** Leaves out the secrets of a webhook that an agent returns. */
function hideSecrets(reply: AnyMessage): AnyMessage {
  if (isMessage(reply, TaskPushNotificationConfigSchema)) return withoutSecrets(reply);
  if (!isMessage(reply, ListTaskPushNotificationConfigsResponseSchema)) return reply;
  return Object.assign({ ...reply }, { configs: reply.configs.map(withoutSecrets) });
}

/** The id of the task that a message is sent to, if any skill requires something of its sender. */
function answeredTask(request: AnyMessage, { chain }: ServerContext): string | undefined {
  if (chain?.authorizeAnswer === undefined || !isMessage(request, SendMessageRequestSchema)) return undefined;
  return request.message?.taskId || undefined;
}

// The common signature of all operations, since a table row is not typed by its operation.
type AnyCall = (request: AnyMessage, context: ServerContext) => Promise<never> & AsyncIterable<never>;

function callOptions(
  { selectHeaders, timeoutMs }: ForwardingOptions,
  { principal, after, extensions, requestId, deadline }: ServerContext,
  signal: AbortSignal,
): CallOptions {
  // The client requests ids in metadata where it needs them.
  const agentExtensions = extensions.filter((uri) => uri !== resumeExtension);
  // Both ends then log a call under one id.
  const idHeader = requestId === undefined ? {} : { [requestIdParameter]: requestId };
  const headers = { ...idHeader, ...selectHeaders(principal) };
  return { signal, after, headers, extensions: agentExtensions, timeoutMs: timeLeft(deadline, timeoutMs) };
}

/** The rest of the caller's time, within the gateway's own limit. */
function timeLeft(deadline: number | undefined, limitMs: number | undefined): number | undefined {
  if (deadline === undefined) return limitMs;
  return Math.max(0, Math.min(deadline - Date.now(), limitMs ?? Number.POSITIVE_INFINITY));
}

// Refuses what the agent would do differently than its caller expects. The agent judges everything else.
function admit(
  { pushes, load }: ForwardingOptions,
  operation: Operation,
  request: AnyMessage,
  context: ServerContext,
): AnyMessage {
  // A call that resumes an earlier send is a read. Overload counts only if it refuses all callers: the gateway runs no
  // turns, of which one caller could have more than its share.
  const overload = isSend(operation) && context.after === undefined ? load?.overload() : undefined;
  if (overload?.refuses === "all") throw overload.refuse();
  const { tenant = "", configuration } = dynamic(request) as Partial<SendMessageRequest>;
  if (tenant !== "" && tenant !== context.principal.tenant) {
    throw invalidParams({ field: "tenant", description: "is not a tenant of this agent" });
  }
  const registers = operation.needs === "pushNotifications" || configuration?.taskPushNotificationConfig !== undefined;
  if (registers && !pushes(context.version)) {
    throw new A2AError(
      "pushNotificationNotSupported",
      `the agent behind the gateway sends no push notifications in version ${context.version}`,
    );
  }
  // The gateway's tenants are not the agent's: the client fills in the tenant from the agent's card.
  return tenant === "" ? request : Object.assign({ ...request }, { tenant: "" });
}

const isSend = ({ name }: Operation): boolean => name === "sendMessage" || name === "sendStreamingMessage";

// The error is never sent.
export function callerLeft(cause?: unknown): A2AError {
  return new A2AError("unavailable", "the caller has left", { cause });
}
