import { type Message as AnyMessage, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Clock, callerClock } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { validate } from "../../protocol/check/validate.js";
import {
  type CallOptions,
  createContext,
  type OpenContext,
  type Principal,
  type ServerContext,
} from "../../protocol/context.js";
import { A2AError, invalidParams } from "../../protocol/errors.js";
import { type StreamResponse, StreamResponseSchema } from "../../protocol/model.js";
import {
  invokeStream,
  invokeUnary,
  type Operation,
  type Operations,
  type StreamItem,
} from "../../protocol/operations.js";
import { requestedExtensions, versionParameter } from "../../protocol/service-parameters.js";
import { defaultValidationLimits, type ValidationLimits } from "../../protocol/validation-limits.js";
import { declaredVersion } from "../../version/detect.js";
import { versionTable } from "../../version/versions.js";
import { Attendance } from "../call-deadline.js";
import { leavable } from "../cancelable.js";
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
    door: options.door ?? openDoor,
    principal: options.principal,
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
  readonly principal: Principal | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly limits: InProcessLimits;
  readonly clock: Pick<Clock, "after">;
}

interface Call {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly options: CallOptions;
}

async function callUnary(end: HandlerEnd, call: Call): Promise<AnyMessage> {
  const { handler, door, clock } = end;
  const { operation, options } = call;
  const attendance = new Attendance(options, clock);
  let admitted: Admitted | undefined;
  try {
    admitted = enter(end, call, await attendance.until(contextOf(end, options)));
    const { request, context } = admitted;
    return copy(operation.output, await attendance.until(invokeUnary(handler, operation, request, context)));
  } catch (error) {
    throw attendance.isOver ? error : answered(door.publicError(error));
  } finally {
    if (attendance.isOver) admitted?.context.leave(attendance.reason);
    attendance.end();
    admitted?.exit();
  }
}

async function* callStream(
  end: HandlerEnd,
  call: Call,
  left: AbortSignal,
): AsyncGenerator<StreamItem, void, undefined> {
  const { handler, door, clock } = end;
  const { operation, options } = call;
  const attendance = new Attendance(options, clock, left);
  let admitted: Admitted | undefined;
  let items: AsyncIterator<StreamItem> | undefined;
  const leave = (): void => {
    if (attendance.isOver || left.aborted) admitted?.context.leave(attendance.reason);
    items?.return?.().then(undefined, noop);
    admitted?.exit();
  };
  // At once, and not when a reader who is at work with an event comes back.
  attendance.onOver = leave;
  try {
    admitted = enter(end, call, await attendance.until(contextOf(end, options)));
    items = invokeStream(handler, operation, admitted.request, admitted.context)[Symbol.asyncIterator]();
    // One event is read ahead, so that a stream that ends is over also when nobody reads on.
    for (let step = items.next(); ; ) {
      const { done, value } = await attendance.until(step);
      if (done === true) return;
      step = items.next();
      step.then((next) => next.done === true && admitted?.exit(), admitted.exit);
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

/** A call that the door has let in. */
interface Admitted {
  readonly context: OpenContext;
  readonly request: AnyMessage;
  readonly exit: () => void;
}

async function contextOf({ door, principal: known, headers: base }: HandlerEnd, options: CallOptions) {
  const headers = { ...base, ...lowerCased(options.headers) };
  const header = (name: string): string | undefined => headers[name];
  const principal = known ?? (await door.authenticate({ binding: "in-process", header }));
  // What goes in and out is the model, whichever version is declared.
  const [newest = ""] = door.versions;
  const version = declaredVersion(header(versionParameter), door.versions) ?? newest;
  const asked = [...requestedExtensions(header), ...(options.extensions ?? [])];
  return createContext({
    principal,
    binding: "in-process",
    version,
    extensions: door.extensions([...new Set(asked)]),
    after: options.after ?? header("last-event-id"),
    caller: { secure: true, remoteAddress: undefined, header },
  });
}

function enter({ door, limits }: HandlerEnd, { operation, request }: Call, context: OpenContext): Admitted {
  const { input, streams } = operation;
  const bytes = toBinary(input, request);
  if (bytes.length > limits.contentMaxBytes) {
    throw new A2AError("contentTooLarge", `the request is over the limit of ${limits.contentMaxBytes} bytes`);
  }
  const exit = door.enter({ principal: context.principal, bytes: bytes.length, streams });
  try {
    const read = fromBinary(input, bytes, decodeOptions);
    const violations = validate(input, read, limits);
    if (violations.length > 0) throw invalidParams(...violations);
    return { context, request: read, exit };
  } catch (error) {
    exit();
    throw error;
  }
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
    error instanceof A2AError ? error : new A2AError("internalError", "internal error", { cause: error }),
};

function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
