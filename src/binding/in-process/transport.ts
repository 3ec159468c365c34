import { type Message as AnyMessage, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Clock, callerClock } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { validate } from "../../protocol/check/validate.js";
import type { CallOptions, Principal, ServerContext } from "../../protocol/context.js";
import { A2AError, invalidParams, toldError } from "../../protocol/errors.js";
import { type StreamResponse, StreamResponseSchema } from "../../protocol/model.js";
import type { Operation, Operations, StreamItem } from "../../protocol/operations.js";
import {
  extensionsParameter,
  formatExtensions,
  requestedExtensions,
  versionParameter,
} from "../../protocol/service-parameters.js";
import { defaultValidationLimits, type ValidationLimits } from "../../protocol/validation-limits.js";
import { versionTable } from "../../version/versions.js";
import { Attendance } from "../call-deadline.js";
import { leavable } from "../cancelable.js";
import { authenticate, type ServerCall } from "../server-call.js";
import type { BindingLimits, Service } from "../service.js";
import { createTransport, type Transport } from "../transport.js";

/** What stands before a handler: the part of a `Service` that has nothing to do with a wire. */
export type InProcessDoor = Pick<Service, "versions" | "authenticate" | "extensions" | "enter" | "publicError">;

export interface InProcessOptions {
  /** Who is calling. Default: whoever the door says it is. */
  readonly principal?: Principal | undefined;
  /** Version of the protocol that calls declare. Default: the newest. */
  readonly version?: string | undefined;
  /** Headers of every call, for the door to look at. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Default: none; all callers are one, and each extension that a call asks for is active. */
  readonly door?: InProcessDoor | undefined;
  readonly limits?: InProcessLimits | undefined;
  /** What time limits of calls go by. Default: the machine's time. */
  readonly clock?: Pick<Clock, "after"> | undefined;
}

/** What a request may hold, and its size in binary. */
type InProcessLimits = ValidationLimits & Pick<BindingLimits, "contentMaxBytes">;

/**
 * Calls a handler in this process, without a wire. Requests are checked as a binding checks them. What goes in and what
 * comes out are copies, so that neither side sees what the other does to its messages.
 */
export function createInProcessTransport(
  handler: Operations<ServerContext>,
  options: InProcessOptions = {},
): Transport {
  const end: HandlerEnd = {
    handler,
    door: gateOf(options),
    headers: lowerCased({ [versionParameter]: options.version ?? "", ...options.headers }),
    limits: options.limits ?? { ...defaultValidationLimits, contentMaxBytes: Number.POSITIVE_INFINITY },
    clock: options.clock ?? callerClock,
  };
  const calls = createTransport({
    unary: (operation, request, call) => callUnary(end, { operation, request, options: call }),
    stream: (operation, request, call) =>
      leavable((left) => callStream(end, { operation, request, options: call }, left)),
  });
  // Nothing has to be freed; that there is a `close` tells clients to end their calls when they are closed.
  return { ...calls, close() {} };
}

interface HandlerEnd {
  readonly handler: Operations<ServerContext>;
  readonly door: InProcessDoor;
  readonly headers: Readonly<Record<string, string>>;
  readonly limits: InProcessLimits;
  readonly clock: Pick<Clock, "after">;
}

interface Call {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly options: CallOptions;
}

type InProcessCall = ServerCall<InProcessDoor>;

async function callUnary(end: HandlerEnd, call: Call): Promise<AnyMessage> {
  const { door, clock } = end;
  const { operation, options } = call;
  const attendance = new Attendance(options, clock);
  let opened: InProcessCall | undefined;
  try {
    opened = await attendance.until(open(end, options));
    const { target, message } = admit(end, call, opened);
    return copy(operation.output, await attendance.until(opened.unary(target, message)));
  } catch (error) {
    throw attendance.isOver ? error : answered(door.publicError(error));
  } finally {
    if (attendance.isOver) opened?.leave(attendance.reason);
    attendance.end();
    opened?.end();
  }
}

async function* callStream(
  end: HandlerEnd,
  call: Call,
  left: AbortSignal,
): AsyncGenerator<StreamItem, void, undefined> {
  const { door, clock } = end;
  const attendance = new Attendance(call.options, clock, left);
  let opened: InProcessCall | undefined;
  let items: AsyncIterator<StreamItem> | undefined;
  const leave = (): void => {
    if (attendance.isOver || left.aborted) opened?.leave(attendance.reason);
    items?.return?.().then(undefined, noop);
    opened?.end();
  };
  // At once, and not when a reader who is at work with an event comes back.
  attendance.onOver = leave;
  try {
    const entered = await attendance.until(open(end, call.options));
    opened = entered;
    const { target, message } = admit(end, call, entered);
    items = entered.stream(target, message)[Symbol.asyncIterator]();
    const over = (): void => entered.end();
    // One event is read ahead, so that a stream that ends is over also when nobody reads on.
    for (let step = items.next(); ; ) {
      const { done, value } = await attendance.until(step);
      if (done === true) return;
      step = items.next();
      step.then((next) => next.done === true && over(), over);
      yield { ...value, response: copy(StreamResponseSchema, value.response) as StreamResponse };
    }
  } catch (error) {
    if (left.aborted) return;
    throw attendance.isOver ? error : answered(door.publicError(error));
  } finally {
    attendance.end();
    leave();
  }
}

/** Says who calls and reads what the headers declare, as every binding does. */
async function open({ door, headers: base }: HandlerEnd, options: CallOptions): Promise<InProcessCall> {
  const headers = { ...base, ...lowerCased(options.headers) };
  if (options.after !== undefined) headers["last-event-id"] = options.after;
  if (options.extensions !== undefined) {
    const asked = [...requestedExtensions((name) => headers[name]), ...options.extensions];
    headers[extensionsParameter] = formatExtensions(asked);
  }
  const header = (name: string): string | undefined => headers[name];
  const address = { secure: true, remoteAddress: undefined, header };
  const call = await authenticate(door, { binding: "in-process", header, address });
  call.declare(door.versions);
  return call;
}

/** Counts the call in and reads its request. */
function admit({ handler, door, limits }: HandlerEnd, { operation, request }: Call, call: InProcessCall) {
  const { input } = operation;
  const bytes = toBinary(input, request);
  call.admit(bytes.length);
  if (bytes.length > limits.contentMaxBytes) {
    throw new A2AError("contentTooLarge", `the request is over the limit of ${limits.contentMaxBytes} bytes`);
  }
  const message = fromBinary(input, bytes, decodeOptions);
  const violations = validate(input, message, limits);
  if (violations.length > 0) throw invalidParams(...violations);
  // What goes in and out is the model, whichever version is declared.
  const [newest = ""] = door.versions;
  return { target: { operation, handler, face: { version: call.declared ?? newest } }, message };
}

function copy(schema: DescMessage, message: AnyMessage): AnyMessage {
  return fromBinary(schema, toBinary(schema, message), decodeOptions);
}

// A level of free JSON takes two messages; what is too deep in a request is refused by its path.
const decodeOptions = { recursionLimit: 1_000 } as const;

/** An error as the agent has answered with it: also one that the agent itself was answered with somewhere else. */
function answered({ code, message, cause, violations, metadata, retryAfterMs, challenge }: A2AError): A2AError {
  return new A2AError(code, message, { cause, violations, metadata, retryAfterMs, challenge });
}

const openDoor: InProcessDoor = {
  versions: versionTable.map(({ name }) => name),
  authenticate: () => ({ owner: "anonymous" }),
  extensions: (requested) => requested,
  enter: () => noop,
  publicError: (error) =>
    error instanceof A2AError ? toldError(error) : new A2AError("internalError", "internal error", { cause: error }),
};

/** The door, with the caller that the options name. */
function gateOf({ door = openDoor, principal }: InProcessOptions): InProcessDoor {
  if (principal === undefined) return door;
  const { versions } = door;
  return {
    versions,
    authenticate: () => principal,
    extensions: (requested) => door.extensions(requested),
    enter: (call) => door.enter(call),
    publicError: (error) => door.publicError(error),
  };
}

function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
