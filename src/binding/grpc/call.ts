import type { Message as AnyMessage, DescMessage } from "@bufbuild/protobuf";
import { endStep, leaveStream } from "../../protocol/async/steps.js";
import { writeBuffer } from "../../protocol/codec/binary/writer.js";
import { A2AError } from "../../protocol/errors.js";
import type { StreamItem } from "../../protocol/operations.js";
import { formatExtensions } from "../../protocol/service-parameters.js";
import type { StreamWriter, WireEvent } from "../../version/codec.js";
import { BodyWatch, requestTooLarge } from "../http/request-body.js";
import type { CallTimes } from "../listen/connection.js";
import { requestIdParameter } from "../request-id.js";
import { ServerCall, singleStep } from "../server-call.js";
import type { AddressedService } from "../service.js";
import { errorToStatus, okStatus, type SentMetadata } from "./errors.js";
import { decodeMessage, methodFor, type RpcMethod } from "./method.js";
import {
  createHeaderReader,
  deadlinePassed,
  encodeFrame,
  type GrpcReceiver,
  GrpcStream,
  highWaterBytes,
  type OpenedStream,
  prefixBytes,
} from "./stream.js";
import { type GrpcTarget, type NamedAgent, prefixTenants, resolveAgentName } from "./target.js";

// One call of an A2A operation over gRPC: between its stream and the pipeline.
//
// A call has its head first: the metadata names the service, then the caller is authenticated, the version picks the
// RPC, and the call is admitted. Only then is the message read; its pieces are booked and watched until it is whole.
// Decoding may move the call to the agent that its tenant names. Then the operation runs, and sends one reply or, in
// `#pump`, events as they come.
//
// The call is over once: when it succeeds, fails, is canceled, or reaches its deadline, whichever is first. Nothing is
// sent after that. Headers wait for the first message, so that a call that fails earlier gets a trailers-only response.

/** Serves the calls of one port. */
export interface GrpcCallOptions {
  readonly findTarget: (destination: AddressedService) => GrpcTarget;
  /** Finds the service at an authority (`host:port`). */
  readonly at: (authority: string) => AddressedService;
  /** The time limits of the request message. */
  readonly times: CallTimes;
  /** Size of a request message. */
  readonly maxBytes: number;
}

/** One call of an A2A operation. */
export class GrpcCall implements GrpcReceiver {
  readonly #stream: GrpcStream;
  readonly #options: GrpcCallOptions;
  readonly #path: string;
  #target: GrpcTarget;
  #method: RpcMethod | undefined;
  /** The name of the agent, if the request gave it. */
  #name = "";
  readonly #serverCall: ServerCall;
  #message: Uint8Array | undefined;
  #arrival: "unwatched" | "whole" | BodyWatch = "unwatched";
  #events: AsyncIterator<StreamItem> | undefined;

  constructor(opened: OpenedStream, options: GrpcCallOptions) {
    const stream = new GrpcStream(opened, this);
    this.#stream = stream;
    this.#options = options;
    this.#path = opened.headers[":path"] ?? "";
    this.#target = options.findTarget(options.at(stream.authority));
    this.#serverCall = new ServerCall(this.#target.service, {
      binding: "GRPC",
      header: createHeaderReader(opened),
      peer: () => stream.peer,
      deadline: stream.deadline,
      certificate: () => stream.certificate,
    });
  }

  /** Begins the call with its head. */
  begin(): void {
    try {
      const authentication = this.#serverCall.authenticate();
      if (authentication === undefined) this.#admit(this.#serverCall);
      else authentication.then(() => this.#admit(this.#serverCall)).catch((error: unknown) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  #admit(call: ServerCall): void {
    if (this.#stream.isOver) return;
    this.#method = this.#methodFor(call);
    call.admit();
    this.#stream.read(this.#options.maxBytes);
    watchLater(this);
  }

  /** Watches the arrival of a message that was not in the same packets as the headers. */
  watchArrival(): void {
    if (this.#stream.isOver || this.#arrival !== "unwatched") return;
    this.#arrival = new BodyWatch(this.#options.times, (error) => this.#fail(error), this.#serverCall.service.clock);
  }

  #endArrival(): void {
    if (typeof this.#arrival === "object") this.#arrival.end();
    this.#arrival = "whole";
  }

  onBytes(count: number): void {
    if (typeof this.#arrival === "object") this.#arrival.add(count);
    try {
      this.#serverCall.receive(count);
    } catch (error) {
      this.#fail(error);
    }
  }

  onMessage(message: Uint8Array): void {
    if (this.#message === undefined) this.#message = message;
    else this.#fail(new A2AError("invalidRequest", "more than one request message"));
  }

  onHalfClose(): void {
    this.#endArrival();
    void this.#run(this.#serverCall);
  }

  onFault(error: A2AError): void {
    this.#serverCall.leave(error);
    this.#fail(error);
  }

  onLeave(): void {
    const { deadline = Number.POSITIVE_INFINITY } = this.#stream;
    this.#serverCall.leave(deadline <= Date.now() ? deadlinePassed() : undefined);
    this.#end();
  }

  async #run(call: ServerCall): Promise<void> {
    try {
      const decoding = call.decodeMessage(() => this.#readRequest(call));
      const request = decoding instanceof Promise ? await decoding : decoding;
      this.#message = undefined;
      if (this.#rpc().operation.streams) await this.#pump(call, request);
      else {
        const sending = this.#reply(call, request, await call.unary(request));
        if (sending !== undefined) await sending;
      }
      // A call ends when nothing large waits for its peer.
      const drained = this.#stream.drained();
      if (drained !== undefined) await drained;
      this.#endWith(okStatus);
    } catch (error) {
      this.#fail(error);
    }
  }

  #methodFor(call: ServerCall): RpcMethod {
    const servedPath = this.#target.paths.get(this.#path);
    if (servedPath === undefined)
      throw new A2AError("methodNotFound", "the agent does not serve this version over gRPC");
    return methodFor(call, servedPath);
  }

  #rpc(): RpcMethod {
    if (this.#method === undefined) throw new TypeError("the call has no method yet");
    return this.#method;
  }

  #readRequest(call: ServerCall): AnyMessage {
    const message = this.#message;
    if (message === undefined) throw new A2AError("invalidRequest", "no request message");
    const { input } = this.#rpc().descriptor;
    const wire = decodeMessage(input, message, call.service.limits.jsonMaxValues);
    const resolveTenant = this.#target.destination.resolveTenant;
    if (resolveTenant !== undefined) this.#moveTo(call, resolveAgentName(wire, resolveTenant), message.length);
    const { adapter, operation } = this.#rpc();
    return adapter.readRequest(operation, wire);
  }

  /** Continues at the agent that the request names. */
  #moveTo(call: ServerCall, { destination, name }: NamedAgent, bytes: number): void {
    this.#target = this.#options.findTarget(destination);
    this.#name = name;
    call.moveTo(destination.service);
    const { contentMaxBytes } = destination.service.limits;
    if (bytes > contentMaxBytes) throw requestTooLarge(contentMaxBytes);
    this.#method = this.#methodFor(call);
  }

  #reply(call: ServerCall, request: AnyMessage, reply: AnyMessage): Promise<void> | undefined {
    const { adapter, operation, descriptor } = this.#rpc();
    const send = (): void => {
      const wire = prefixTenants(adapter.writeReply(operation, reply, request), this.#name);
      this.#sendReply(writeBuffer(descriptor.output, wire));
    };
    return withRoom(call, reply, send);
  }

  /** Sends the only message of a call: a small one in one piece with the status. */
  #sendReply(message: Uint8Array): void {
    const frame = encodeFrame(message);
    if (message.length > highWaterBytes) {
      this.#send(frame);
      return;
    }
    this.#serverCall.countReply(message);
    this.#sendHeaders();
    this.#stream.sendLast(frame, okStatus);
    this.#end();
  }

  /** Writes events as they come. Events ready at once share a write; a full socket pauses the loop. */
  async #pump(call: ServerCall, request: AnyMessage): Promise<void> {
    const { adapter, operation } = this.#rpc();
    const writer = adapter.writeStream(operation, request);
    const events = call.stream(request)[Symbol.asyncIterator]();
    this.#events = events;
    let step: IteratorResult<StreamItem> = await events.next();
    while (step.done !== true && !this.#stream.isOver) {
      const sending = this.#sendItem(call, writer, step.value);
      if (sending !== undefined) await sending;
      const drained = this.#stream.drained();
      if (drained !== undefined) await drained;
      // While the stream waits for its next event, its frame keeps no reference to the last one.
      step = endStep;
      step = await events.next();
    }
    if (!this.#stream.isOver) this.#sendEvents(writer.end?.() ?? []);
  }

  #sendItem(call: ServerCall, writer: StreamWriter<AnyMessage>, item: StreamItem): Promise<void> | undefined {
    return withRoom(call, item.response, () => this.#sendEvents(writer.write(item)));
  }

  #sendEvents(events: readonly WireEvent<AnyMessage>[]): void {
    for (const { payload } of events) {
      this.#send(encodeEvent(this.#rpc().descriptor.output, payload));
    }
  }

  /** Sends a message, which is booked until its peer has taken it if it is large. */
  #send(frame: Buffer): void {
    const { length } = frame;
    const isLarge = length > highWaterBytes;
    if (isLarge) this.#serverCall.hold(length);
    this.#serverCall.countReply(frame.subarray(prefixBytes));
    this.#sendHeaders();
    this.#stream.send(frame, isLarge ? () => this.#serverCall.release(length) : undefined);
  }

  /** With the first message, so that a call that fails earlier gets a trailers-only response. */
  #sendHeaders(): void {
    if (this.#stream.isOpen) return;
    const { requestId, extensions, rateFields } = this.#serverCall;
    const headers: Record<string, string> = { [requestIdParameter]: requestId, ...rateFields };
    if (extensions.length > 0) headers[this.#rpc().adapter.extensionsName] = formatExtensions(extensions);
    this.#stream.open(headers);
  }

  #fail(error: unknown): void {
    if (this.#stream.isOver) return;
    const call = this.#serverCall;
    const publicError = call.publicError(error);
    const status = errorToStatus(publicError, this.#adapter());
    if (this.#stream.isOpen) {
      this.#endWith(status);
      return;
    }
    const metadata = { ...status, [requestIdParameter]: call.requestId, ...call.rateFields };
    // Proxies repeat calls with HTTP 503. gRPC clients read the gRPC status, or take 503 as UNAVAILABLE.
    this.#endWith(metadata, call.chooseHttpStatus(publicError) === 503 ? 503 : 200);
  }

  #endWith(status: SentMetadata, httpStatus?: number): void {
    if (this.#stream.isOver) return;
    this.#stream.end(status, httpStatus);
    this.#end();
  }

  /** The adapter of the call's method, or of the path's newest one for errors before the method is known. */
  #adapter(): RpcMethod["adapter"] | undefined {
    return (this.#method ?? this.#target.paths.get(this.#path)?.methods[0])?.adapter;
  }

  #end(): void {
    this.#endArrival();
    this.#serverCall.end();
    leaveStream(this.#events);
  }
}

// Most messages arrive with their headers, and need no timer: watching begins in the next turn of the event loop.

const arriving: GrpcCall[] = [];

function watchLater(call: GrpcCall): void {
  if (arriving.push(call) === 1) setImmediate(watchArriving);
}

function watchArriving(): void {
  for (const call of arriving.splice(0)) call.watchArrival();
}

/** Sends a reply or an event: a small one at once, a large one as large work, if there is room for it. */
function withRoom(call: ServerCall, reply: AnyMessage, send: () => void): Promise<void> | undefined {
  if (!call.isLarge(reply)) {
    send();
    return undefined;
  }
  return call.work(
    singleStep(() => {
      call.release(call.reserve(reply));
      send();
    }),
  );
}

// Each event is encoded once, however many streams send it. Not in Node's buffer pool, which it would keep alive.
const eventFrames = new WeakMap<AnyMessage, Buffer>();

function encodeEvent(schema: DescMessage, event: AnyMessage): Buffer {
  const cachedFrame = eventFrames.get(event);
  if (cachedFrame !== undefined) return cachedFrame;
  const frame = encodeFrame(writeBuffer(schema, event), Buffer.allocUnsafeSlow);
  eventFrames.set(event, frame);
  return frame;
}
