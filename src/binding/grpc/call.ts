import type { Message as AnyMessage, DescMessage } from "@bufbuild/protobuf";
import { Metadata, status } from "@grpc/grpc-js";
import { endStep, leaveStream } from "../../protocol/async/steps.js";
import { writeBinary, writeBuffer } from "../../protocol/codec/binary/writer.js";
import { A2AError } from "../../protocol/errors.js";
import type { StreamItem } from "../../protocol/operations.js";
import { formatExtensions } from "../../protocol/service-parameters.js";
import type { StreamWriter, WireEvent } from "../../version/codec.js";
import { BodyWatch, requestTooLarge } from "../http/request-body.js";
import type { CallTimes } from "../listen/connection.js";
import { parseCertificate } from "../peer-certificate.js";
import { requestIdParameter } from "../request-id.js";
import { ServerCall, singleStep } from "../server-call.js";
import type { AddressedService } from "../service.js";
import { errorToStatus } from "./errors.js";
import { type RawCall, setHttpStatus, type TakenCallListener } from "./internals/taken-call.js";
import { createHeaderReader, decodeMessage, methodFor, type RpcMethod, stripPort, toBuffer } from "./method.js";
import { type GrpcTarget, type NamedAgent, prefixTenants, resolveAgentName } from "./target.js";

// One call over gRPC: the listener of its raw call, and the pipeline's binding.
//
// A call has its head first: the metadata names the service, then the caller is authenticated, the version picks the
// RPC, and the call is admitted. Only then is the message read; its pieces are booked and watched while grpc-js puts
// them together. Decoding may move the call to the agent that its tenant names. Then the operation runs, and sends one
// reply or, in `#pump`, events as they come.
//
// The call is over once: when it succeeds, fails, or is canceled, whichever is first. Nothing is sent after that.
// Headers wait for the first message, so that a call that fails earlier gets a trailers-only response.

// Unsent bytes of a stream above which reading its subscription pauses.
const highWaterBytes = 32 * 1024;

const okStatus = { code: status.OK, details: "OK", metadata: null };

/** Serves the calls of one path. */
export interface GrpcCallOptions {
  readonly path: string;
  readonly findTarget: (destination: AddressedService) => GrpcTarget;
  /** Finds the service at an authority (`host:port`). */
  readonly at: (authority: string) => AddressedService;
  /** The time limits of the request message. */
  readonly times: CallTimes;
}

/** One call of an A2A operation. */
export class GrpcCall implements TakenCallListener {
  readonly #call: RawCall;
  readonly #options: GrpcCallOptions;
  #target: GrpcTarget | undefined;
  #method: RpcMethod | undefined;
  /** The name of the agent, if the request gave it. */
  #name = "";
  /** Created with the first metadata. */
  #serverCall: ServerCall | undefined;
  #message: Uint8Array | undefined;
  #watch: BodyWatch | undefined;
  #over: boolean = false;
  #headersSent: boolean = false;
  #pendingBytes = 0;
  #onDrain: (() => void) | undefined;
  #events: AsyncIterator<StreamItem> | undefined;

  constructor(call: RawCall, options: GrpcCallOptions) {
    this.#call = call;
    this.#options = options;
  }

  onReceiveMetadata(metadata: Metadata): void {
    const { at, findTarget } = this.#options;
    this.#target = findTarget(at(this.#call.getHost()));
    const call = new ServerCall(this.#target.service, {
      binding: "GRPC",
      header: createHeaderReader(metadata),
      peer: () => stripPort(this.#call.getPeer()),
      deadline: finiteOrNone(Number(this.#call.getDeadline())),
      certificate: () => parseCertificate(this.#call.getAuthContext?.()?.sslPeerCertificate?.raw),
    });
    this.#serverCall = call;
    try {
      const authentication = call.authenticate();
      if (authentication === undefined) this.#admit(call);
      else authentication.then(() => this.#admit(call)).catch((error: unknown) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Called with the size of each piece of a message. Returns false if the call has failed. */
  onReceiveBytes(bytes: number): boolean {
    this.#watch?.add(bytes);
    try {
      this.#serverCall?.receive(bytes);
    } catch (error) {
      this.#fail(error);
    }
    return !this.#over;
  }

  onReceiveMessage(message: Uint8Array): void {
    if (this.#message !== undefined) {
      this.#fail(new A2AError("invalidRequest", "more than one request message"));
      return;
    }
    this.#message = message;
    this.#call.startRead();
  }

  onReceiveHalfClose(): void {
    this.#watch?.end();
    this.#watch = undefined;
    if (this.#over) return;
    void this.#run();
  }

  onCancel(): void {
    if (this.#over) return;
    const late = Number(this.#call.getDeadline()) <= Date.now();
    const reason = late ? new A2AError("deadlineExceeded", "the deadline of the call has passed") : undefined;
    this.#serverCall?.leave(reason);
    this.#end();
    this.#onDrain?.();
  }

  #admit(call: ServerCall): void {
    if (this.#over) return;
    const { times } = this.#options;
    this.#method = this.#methodFor(call);
    call.admit();
    this.#watch = new BodyWatch(times, (error) => this.#fail(error), call.service.clock);
    this.#call.startRead();
  }

  async #run(): Promise<void> {
    try {
      const call = this.#serverCall;
      if (call === undefined) return;
      const decoding = call.decodeMessage(() => this.#readRequest(call));
      const request = decoding instanceof Promise ? await decoding : decoding;
      this.#message = undefined;
      if (this.#rpc().operation.streams) await this.#pump(call, request);
      else {
        const sending = this.#reply(call, request, await call.unary(request));
        if (sending !== undefined) await sending;
      }
      // A call ends when nothing large waits for its peer.
      if (this.#pendingBytes > highWaterBytes) await this.#drain();
      this.#succeed();
    } catch (error) {
      this.#fail(error);
    }
  }

  #methodFor(call: ServerCall): RpcMethod {
    const servedPath = this.#target?.paths.get(this.#options.path);
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
    const resolveTenant = this.#target?.destination.resolveTenant;
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
      this.#sendCounted(writeBuffer(descriptor.output, wire));
    };
    return withRoom(call, reply, send);
  }

  /** Writes events as they come. Events ready at once share a write; a full socket pauses the loop. */
  async #pump(call: ServerCall, request: AnyMessage): Promise<void> {
    const { adapter, operation } = this.#rpc();
    const writer = adapter.writeStream(operation, request);
    const events = call.stream(request)[Symbol.asyncIterator]();
    this.#events = events;
    let step: IteratorResult<StreamItem> = await events.next();
    while (step.done !== true && !this.#over) {
      const sending = this.#sendItem(call, writer, step.value);
      if (sending !== undefined) await sending;
      if (this.#pendingBytes > highWaterBytes) await this.#drain();
      // While the stream waits for its next event, its frame keeps no reference to the last one.
      step = endStep;
      step = await events.next();
    }
    if (!this.#over) this.#sendEvents(writer.end?.() ?? []);
  }

  #sendItem(call: ServerCall, writer: StreamWriter<AnyMessage>, item: StreamItem): Promise<void> | undefined {
    return withRoom(call, item.response, () => this.#sendEvents(writer.write(item)));
  }

  #sendEvents(events: readonly WireEvent<AnyMessage>[]): void {
    for (const { payload } of events) {
      this.#sendCounted(encodeEvent(this.#rpc().descriptor.output, payload));
    }
  }

  /** Sends a message, which is booked until its peer has taken it if it is large. */
  #sendCounted(bytes: Uint8Array): void {
    if (bytes.length > highWaterBytes) this.#serverCall?.hold(bytes.length);
    this.#serverCall?.countReply(bytes);
    this.#pendingBytes += bytes.length;
    this.#send(bytes, () => this.#onWritten(bytes.length));
  }

  #onWritten(bytes: number): void {
    if (bytes > highWaterBytes) this.#serverCall?.release(bytes);
    this.#pendingBytes -= bytes;
    if (this.#pendingBytes <= highWaterBytes) this.#onDrain?.();
  }

  #drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrain = resolve;
      if (this.#over) resolve();
    });
  }

  #send(bytes: Uint8Array, onWritten: () => void): void {
    if (!this.#headersSent) this.#sendHeaders();
    this.#call.sendMessage(toBuffer(bytes), onWritten);
  }

  // Deferred to the first message, so that a call that fails earlier gets a trailers-only response.
  #sendHeaders(): void {
    this.#headersSent = true;
    if (this.#serverCall === undefined) return;
    const { requestId, extensions, rateFields } = this.#serverCall;
    const headers = new Metadata();
    headers.set(requestIdParameter, requestId);
    addFields(headers, rateFields);
    if (extensions.length > 0) headers.set(this.#rpc().adapter.extensionsName, formatExtensions(extensions));
    this.#call.sendMetadata(headers);
  }

  #succeed(): void {
    if (this.#over) return;
    this.#end();
    this.#call.sendStatus(okStatus);
  }

  #fail(error: unknown): void {
    const call = this.#serverCall;
    if (this.#over || call === undefined) return;
    const publicError = call.publicError(error);
    const status = errorToStatus(publicError, this.#adapter());
    if (!this.#headersSent) {
      // Proxies repeat calls with HTTP 503. gRPC clients read the gRPC status, or take 503 as UNAVAILABLE.
      if (call.chooseHttpStatus(publicError) === 503) setHttpStatus(this.#call, 503);
      status.metadata?.set(requestIdParameter, call.requestId);
      addFields(status.metadata, call.rateFields);
    }
    this.#end();
    this.#call.sendStatus(status);
  }

  /** The adapter of the call's method, or of the path's newest one for errors before the method is known. */
  #adapter(): RpcMethod["adapter"] | undefined {
    return (this.#method ?? this.#target?.paths.get(this.#options.path)?.methods[0])?.adapter;
  }

  #end(): void {
    this.#over = true;
    this.#watch?.end();
    this.#serverCall?.end();
    leaveStream(this.#events);
  }
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

function addFields(metadata: Metadata | null, fields: ServerCall["rateFields"]): void {
  for (const [name, value] of Object.entries(fields ?? {})) metadata?.set(name, value);
}

function finiteOrNone(time: number): number | undefined {
  return Number.isFinite(time) ? time : undefined;
}

// Each event is encoded once, however many streams send it. Not with `writeBuffer`: the cached bytes must not keep
// Node's buffer pool alive.
const eventBytes = new WeakMap<AnyMessage, Uint8Array>();

function encodeEvent(schema: DescMessage, event: AnyMessage): Uint8Array {
  const cachedBytes = eventBytes.get(event);
  if (cachedBytes !== undefined) return cachedBytes;
  const bytes = writeBinary(schema, event);
  eventBytes.set(event, bytes);
  return bytes;
}
