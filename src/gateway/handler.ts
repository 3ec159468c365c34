import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { Clock } from "../core/ports.js";
import { createIdleCounter } from "../protocol/async/idle-counter.js";
import { within } from "../protocol/async/pause.js";
import { dynamic } from "../protocol/codec/outline/dynamic.js";
import type { CallOptions, Principal, ServerContext } from "../protocol/context.js";
import { A2AError, invalidParams } from "../protocol/errors.js";
import { resumeExtension } from "../protocol/extensions.js";
import type { SendMessageRequest } from "../protocol/model.js";
import {
  invokeStream,
  invokeUnary,
  type Operation,
  type OperationName,
  type Operations,
  operationOf,
  operations,
  type StreamItem,
} from "../protocol/operations.js";
import { isOutage, publicFailure } from "./failures.js";
import { passedStream, type StreamWatch } from "./passed-stream.js";
import type { Upstream } from "./upstream.js";

/** What calls of the gateway are made of. */
export interface PassingCalls {
  readonly upstream: Pick<Upstream, "client" | "doubt">;
  /** Headers of callers that go on with their calls. */
  readonly headersOf: (principal: Principal) => Readonly<Record<string, string>>;
  /** Whether webhooks that callers of this version register hear their own dialect. */
  readonly pushes: (version: string) => boolean;
  readonly clock: Clock;
}

/** Operations that are calls of an agent somewhere else. */
export interface PassedOperations {
  readonly operations: Operations<ServerContext>;
  /** A message whose stream is watched on its way. */
  stream(request: SendMessageRequest, context: ServerContext, watch: StreamWatch): AsyncIterable<StreamItem>;
  /** Waits until a task has ended or wants something. */
  wait(taskId: string, context: ServerContext): Promise<void>;
  /** Waits until no call is under way, at most `ms`. */
  drain(ms: number): Promise<void>;
}

/** Makes every operation of the table a call of the agent behind. */
export function passOperations(calls: PassingCalls): PassedOperations {
  const { client, doubt } = calls.upstream;
  const underway = createIdleCounter();
  const failed = (error: unknown): unknown => {
    if (isOutage(error)) doubt();
    return publicFailure(error);
  };
  const told = async <T>(context: ServerContext, call: (options: CallOptions) => Promise<T>): Promise<T> => {
    const leave = underway.enter();
    try {
      return await call(callOptions(calls, context));
    } catch (error) {
      throw context.signal.aborted ? left(error) : failed(error);
    } finally {
      leave();
    }
  };
  const unary = async (operation: Operation, request: AnyMessage, context: ServerContext): Promise<AnyMessage> => {
    const admitted = admit(calls, operation, request, context);
    return told(context, (options) => invokeUnary(client.operations, operation, admitted, options));
  };
  const stream = (operation: Operation, request: AnyMessage, context: ServerContext, watch?: StreamWatch) => {
    const admitted = admit(calls, operation, request, context);
    const items = invokeStream(client.operations, operation, admitted, callOptions(calls, context));
    const marks = context.extensions.includes(resumeExtension);
    return passedStream(items, { marks, signal: context.signal, enter: underway.enter, failed, watch });
  };
  const passed = operations.map((operation) => {
    const call = operation.streams ? stream : unary;
    return [
      operation.name,
      (request: AnyMessage, context: ServerContext) => call(operation, request, context),
    ] as const;
  });
  return {
    operations: Object.fromEntries(passed) as Record<OperationName, AnyPassed>,
    stream: (request, context, watch) => stream(operationOf("sendStreamingMessage"), request, context, watch),
    wait: (taskId, context) => told(context, async (options) => void (await client.wait(taskId, options))),
    drain: (ms) => within(calls.clock, ms, underway.idle()),
  };
}

// What every operation's type has room for: a row of the table is not typed by its operation.
type AnyPassed = (request: AnyMessage, context: ServerContext) => Promise<never> & AsyncIterable<never>;

function callOptions(
  { headersOf }: PassingCalls,
  { principal, signal, after, extensions }: ServerContext,
): CallOptions {
  // The client asks for ids in metadata where it needs them.
  const passing = extensions.filter((uri) => uri !== resumeExtension);
  return { signal, after, headers: headersOf(principal), extensions: passing };
}

// Refuses what the agent would do otherwise than its caller expects. All else is the agent's to judge.
function admit(
  { pushes }: PassingCalls,
  operation: Operation,
  request: AnyMessage,
  context: ServerContext,
): AnyMessage {
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
  // The tenants of the gateway are not those of the agent: the client fills in the one that the agent's card names.
  return tenant === "" ? request : Object.assign({ ...request }, { tenant: "" });
}

// No caller waits for it.
function left(cause: unknown): A2AError {
  return new A2AError("unavailable", "the caller has left", { cause });
}
