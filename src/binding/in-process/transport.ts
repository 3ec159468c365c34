import { type Message as AnyMessage, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Clock, callerClock } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { runSteps } from "../../protocol/async/run-steps.js";
import { leaveStream } from "../../protocol/async/steps.js";
import { validate } from "../../protocol/check/validate.js";
import { readBinary } from "../../protocol/codec/binary/reader.js";
import type { CallChain, CallOptions, Principal, ServerContext } from "../../protocol/context.js";
import { A2AError, errorForPeer, invalidParams } from "../../protocol/errors.js";
import { type StreamResponse, StreamResponseSchema } from "../../protocol/model.js";
import type { Operation, Operations, StreamItem } from "../../protocol/operations.js";
import {
  extensionsParameter,
  formatExtensions,
  lowerCaseNames,
  requestedExtensions,
  versionParameter,
} from "../../protocol/service-parameters.js";
import { defaultValidationLimits, type ValidationLimits } from "../../protocol/validation-limits.js";
import { versionTable } from "../../version/versions.js";
import { CallDeadline, toDeadline } from "../deadline.js";
import { requestTooLarge } from "../http/request-body.js";
import { ServerCall } from "../server-call.js";
import type { BindingLimits, CallGate } from "../service.js";
import { cancelable, createTransport, type Transport } from "../transport.js";

// Calls of an agent in the same process, through the pipeline that all bindings have.

export interface InProcessOptions {
  /** The principal of the calls. Default: the one that `authenticate` returns. */
  readonly principal?: Principal | undefined;
  /** The protocol version that calls declare. Default: the newest. */
  readonly version?: string | undefined;
  /** Headers of every call, as passed to `authenticate`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The chain of calls that a turn of this process continues. Default: the calls come from outside of a turn. */
  readonly chain?: CallChain | undefined;
  /** Default: none. All calls share one principal, and every extension that a call requests is active. */
  readonly admission?: CallGate | undefined;
  readonly limits?: InProcessLimits | undefined;
  /** The clock that calls' time limits use. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

const noLimit = Number.POSITIVE_INFINITY;

/** Limits on a request's content, on its size in binary, and on its free JSON. */
type InProcessLimits = ValidationLimits & Pick<BindingLimits, "contentMaxBytes" | "jsonMaxValues">;

/**
 * Calls a handler in the same process, without a wire. Requests are validated as in a binding. Requests and replies are
 * copied, so neither side sees the other's later changes.
 */
export function createInProcessTransport(
  handler: Operations<ServerContext>,
  options: InProcessOptions = {},
): Transport {
  const end: HandlerEnd = {
    handler,
    admission: chooseAdmission(options),
    headers: lowerCaseNames({ [versionParameter]: options.version ?? "", ...options.headers }),
    via: options.chain?.via,
    limits: options.limits ?? { ...defaultValidationLimits, contentMaxBytes: noLimit, jsonMaxValues: noLimit },
    clock: options.clock ?? callerClock,
  };
  const calls = createTransport({
    unary: (operation, request, call) => callUnary(end, { operation, request, options: call }),
    stream: (operation, request, call) =>
      cancelable((leaveSignal) => callStream(end, { operation, request, options: call }, leaveSignal)),
  });
  // There is nothing to free. Clients end their open calls on close only if the transport has `close`.
  return { ...calls, close() {} };
}

interface HandlerEnd {
  readonly handler: Operations<ServerContext>;
  readonly admission: CallGate;
  readonly headers: Readonly<Record<string, string>>;
  readonly via: readonly string[] | undefined;
  readonly limits: InProcessLimits;
  readonly clock: Clock;
}

interface Call {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly options: CallOptions;
}

type InProcessCall = ServerCall<CallGate>;

async function callUnary(end: HandlerEnd, call: Call): Promise<AnyMessage> {
  const { operation, options } = call;
  const deadline = new CallDeadline(options, end.clock);
  const serverCall = open(end, options);
  try {
    await deadline.until(enter(end, serverCall));
    const message = admit(end, call, serverCall);
    return copy(operation.output, await deadline.until(serverCall.unary(message)), serverCall);
  } catch (error) {
    throw deadline.isOver ? error : copyError(serverCall.publicError(error));
  } finally {
    if (deadline.isOver) serverCall.leave(deadline.reason);
    deadline.end();
    serverCall.end();
  }
}

async function* callStream(
  end: HandlerEnd,
  call: Call,
  leaveSignal: AbortSignal,
): AsyncGenerator<StreamItem, void, undefined> {
  const deadline = new CallDeadline(call.options, end.clock, leaveSignal);
  const serverCall = open(end, call.options);
  let items: AsyncIterator<StreamItem> | undefined;
  const leave = (): void => {
    if (deadline.isOver || leaveSignal.aborted) serverCall.leave(deadline.reason);
    leaveStream(items);
    serverCall.end();
  };
  // Leaves at once instead of when a reader that is handling an event comes back.
  deadline.onOver = leave;
  try {
    await deadline.until(enter(end, serverCall));
    const message = admit(end, call, serverCall);
    items = serverCall.stream(message)[Symbol.asyncIterator]();
    const endCall = (): void => serverCall.end();
    // One event is read ahead, so that the stream ends even if its reader has stopped.
    for (let step = items.next(); ; ) {
      const { done, value } = await deadline.until(step);
      if (done === true) return;
      step = items.next();
      step.then((next) => next.done === true && endCall(), endCall);
      yield { ...value, response: copy(StreamResponseSchema, value.response, serverCall) as StreamResponse };
    }
  } catch (error) {
    if (leaveSignal.aborted) return;
    throw deadline.isOver ? error : copyError(serverCall.publicError(error));
  } finally {
    deadline.end();
    leave();
  }
}

function open({ admission, headers: base, via }: HandlerEnd, options: CallOptions): InProcessCall {
  const headers = { ...base, ...lowerCaseNames(options.headers) };
  if (options.after !== undefined) headers["last-event-id"] = options.after;
  if (options.extensions !== undefined) {
    const uris = [...requestedExtensions((name) => headers[name]), ...options.extensions];
    headers[extensionsParameter] = formatExtensions(uris);
  }
  const header = (name: string): string | undefined => headers[name];
  const address = { secure: true, remoteAddress: undefined, header };
  const deadline = toDeadline(options.timeoutMs);
  return new ServerCall(admission, { binding: "in-process", header, address, via, deadline });
}

/** Authenticates the caller and reads what the headers declare, as every binding does. */
async function enter({ admission }: HandlerEnd, call: InProcessCall): Promise<void> {
  await call.authenticate();
  call.declare(admission.versions);
}

/** Admits the call and decodes its request. */
function admit({ handler, admission, limits }: HandlerEnd, { operation, request }: Call, call: InProcessCall) {
  const { input } = operation;
  // Requests and replies are in the model's form, whichever version is declared.
  const [newest = ""] = admission.versions;
  call.target = { operation, handler, adapter: { version: call.declaredVersion ?? newest } };
  const bytes = toBinary(input, request);
  call.admit();
  call.receive(bytes.length);
  if (bytes.length > limits.contentMaxBytes) throw requestTooLarge(limits.contentMaxBytes);
  const message = readBinary(input, bytes, { ...decodeOptions, maxValues: limits.jsonMaxValues });
  const violations = validate(input, message, limits);
  if (violations.length > 0) throw invalidParams(...violations);
  return message;
}

function copy(schema: DescMessage, message: AnyMessage, call: InProcessCall): AnyMessage {
  const bytes = toBinary(schema, message);
  call.countReply(bytes);
  return fromBinary(schema, bytes, decodeOptions);
}

// A level of free JSON takes two messages. Validation refuses a request that is too deep and names the path.
const decodeOptions = { recursionLimit: 1_000 } as const;

/** Copies an error as the agent's answer, including one that the agent received from another agent. */
function copyError(error: A2AError): A2AError {
  return new A2AError(error.code, error.message, error);
}

const openAdmission: CallGate = {
  versions: versionTable.map(({ name }) => name),
  authenticate: () => ({ principal: { owner: "anonymous" } }),
  extensions: (requested) => requested,
  enter: () => ({ receive: noop, hold: noop, release: noop, leave: noop, work: runSteps }),
  publicError: (error) =>
    error instanceof A2AError ? errorForPeer(error) : new A2AError("internalError", "internal error", { cause: error }),
};

/** Returns the admission, with the principal of the options. */
function chooseAdmission({ admission = openAdmission, principal, chain }: InProcessOptions): CallGate {
  if (principal === undefined) return admission;
  const caller = { principal, authorize: chain?.authorize, authorizeAnswer: chain?.authorizeAnswer };
  return { ...admission, authenticate: () => caller };
}
