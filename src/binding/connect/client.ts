import { type Message as AnyMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { noop } from "../../protocol/async/noop.js";
import { assertFewFields } from "../../protocol/codec/binary/field-count.js";
import { replyTooLarge } from "../../protocol/codec/reply-too-large.js";
import { maxReplyValues, tooManyReplyValues } from "../../protocol/codec/reply-values.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError, ConnectionError } from "../../protocol/errors.js";
import type { HttpAnswer } from "../../protocol/fetch.js";
import { trimSlashes } from "../../protocol/http-routes.js";
import type { Operation, StreamItem } from "../../protocol/operations.js";
import type { GrpcAdapter } from "../../version/codec.js";
import { concat } from "../concat.js";
import { timeoutMaxMs } from "../deadline.js";
import { createSender, type HttpTransportOptions, replyMaxDefault, type UnreadAnswer } from "../fetch/call.js";
import { decodeOptions, listMethods, type RpcMethod } from "../grpc/method.js";
import { readMediaType } from "../http/media-type.js";
import { cancelable, createTransport, missingOperation, type Transport } from "../transport.js";
import { errorFromAnswer, errorFromEnd, errorFromTrailerBytes, errorFromTrailers } from "./answer-errors.js";
import { type Envelope, EnvelopeReader, encodeEnvelope } from "./envelope.js";

export interface ConnectTransportOptions extends HttpTransportOptions {
  readonly adapter: GrpcAdapter;
  /** The protocol to use, always with binary messages. Default: `"connect"`. */
  readonly protocol?: "connect" | "grpc-web" | undefined;
}

/** Creates a client transport for Connect or gRPC-Web over `fetch`. */
export function createConnectTransport(options: ConnectTransportOptions): Transport {
  const { adapter, protocol = "connect", replyMaxBytes = replyMaxDefault } = options;
  const wire = wires[protocol];
  const base = trimSlashes(options.url);
  const methods = new Map(listMethods(adapter).map((method) => [method.operation, method]));
  const prepareCall = (operation: Operation, request: AnyMessage, call: CallOptions): WebCall => {
    const method = methods.get(operation);
    if (method !== undefined) return { ...method, http: options, base, wire, replyMaxBytes, request, options: call };
    throw missingOperation(adapter, operation, wire.name);
  };
  const calls = createTransport({
    unary: async (operation, request, call) => callUnary(prepareCall(operation, request, call)),
    stream: (operation, request, call) =>
      cancelable((leaveSignal) => callStream(() => prepareCall(operation, request, call), leaveSignal)),
  });
  return adapter.call?.(calls) ?? calls;
}

/** The differences between the two protocols. */
interface WebWire {
  /** Name for error messages. */
  readonly name: string;
  readonly unaryType: string;
  readonly streamType: string;
  /** Whether unary messages are framed too. */
  readonly framesUnary: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** Header that sends the caller's timeout. */
  timeLimit(ms: number): Readonly<Record<string, string>>;
  /** Flags of the last envelope of a response. */
  readonly endFlags: number;
  readEndError(data: Uint8Array): A2AError | undefined;
}

const wires: Readonly<Record<"connect" | "grpc-web", WebWire>> = {
  connect: {
    name: "CONNECT",
    unaryType: "application/proto",
    streamType: "application/connect+proto",
    framesUnary: false,
    headers: { "connect-protocol-version": "1" },
    timeLimit: (ms) => ({ "connect-timeout-ms": String(ms) }),
    endFlags: 2,
    readEndError: errorFromEnd,
  },
  "grpc-web": {
    name: "gRPC-Web",
    unaryType: "application/grpc-web+proto",
    streamType: "application/grpc-web+proto",
    framesUnary: true,
    headers: { "x-grpc-web": "1" },
    timeLimit: (ms) => ({ "grpc-timeout": `${ms}m` }),
    endFlags: 128,
    readEndError: errorFromTrailerBytes,
  },
};

/** One outgoing call and its RPC. */
interface WebCall extends RpcMethod {
  readonly http: HttpTransportOptions;
  readonly base: string;
  readonly wire: WebWire;
  readonly replyMaxBytes: number;
  readonly request: AnyMessage;
  readonly options: CallOptions;
}

async function callUnary(call: WebCall): Promise<AnyMessage> {
  const answer = await open(call);
  const bytes = call.wire.framesUnary ? await readOnlyMessage(call, answer) : await readBody(call, answer);
  return call.adapter.readReply(call.operation, decode(call, bytes), call.request);
}

async function* callStream(find: () => WebCall, leaveSignal: AbortSignal): AsyncGenerator<StreamItem, void, undefined> {
  const call = find();
  const { adapter, operation } = call;
  const reader = adapter.readStream(operation, call.request);
  try {
    const answer = await open(call, leaveSignal);
    for await (const bytes of readMessages(call, answer)) {
      for (const item of reader.read(decode(call, bytes))) yield item;
      if (reader.isOver === true) return;
    }
  } catch (error) {
    if (!leaveSignal.aborted) throw error;
  }
}

/** Sends a call and returns the response if its head reports no error. */
async function open(call: WebCall, leaveSignal?: AbortSignal): Promise<UnreadAnswer> {
  const answer = await send(call, leaveSignal);
  const { response } = answer;
  if (!response.ok) throw await errorFromAnswer(answer, call.replyMaxBytes);
  const error = readHeadError(call, response.headers);
  if (error === undefined) return answer;
  response.body?.cancel().then(undefined, noop);
  throw error;
}

function readHeadError(call: WebCall, headers: HttpAnswer["headers"]): A2AError | undefined {
  if (headers.has("grpc-status")) return errorFromTrailers(headers);
  const type = headers.get("content-type") ?? "no content type";
  const expected = chooseType(call);
  // `application/grpc-web` implies protobuf.
  if (readMediaType(type) === expected || `${readMediaType(type)}+proto` === expected) return undefined;
  return new A2AError("invalidAgentResponse", `the agent answered with ${type.slice(0, 80)} instead of ${expected}`);
}

function send(call: WebCall, leaveSignal: AbortSignal | undefined): Promise<UnreadAnswer> {
  const { http, base, wire, adapter, operation, path, descriptor, request, options } = call;
  const message = toBinary(descriptor.input, adapter.writeRequest(operation, request));
  const body = operation.streams || wire.framesUnary ? encodeEnvelope(message) : message;
  const { fetch: fetchWith = (input, init) => fetch(input, init) } = http;
  const sender = createSender({ ...http, fetch: (input, init) => fetchWith(input, { ...init, body }) }, adapter);
  const { timeoutMs = Number.POSITIVE_INFINITY } = options;
  const timeLimit = timeoutMs > timeoutMaxMs ? {} : wire.timeLimit(Math.ceil(timeoutMs));
  const headers = { ...options.headers, ...wire.headers, ...timeLimit };
  const contentType = chooseType(call);
  return sender({
    method: "POST",
    url: base + path,
    accept: "*/*",
    contentType,
    options: { ...options, headers },
    leaveSignal,
  });
}

function chooseType({ wire, operation }: WebCall): string {
  return operation.streams ? wire.streamType : wire.unaryType;
}

/**
 * Yields the messages of a framed response. Only an end envelope or trailers end it; a connection that closes earlier
 * is a broken stream. Reads the body to its end, so that the connection can be reused.
 */
async function* readMessages(call: WebCall, answer: UnreadAnswer): AsyncGenerator<Uint8Array, void, undefined> {
  const { wire, replyMaxBytes } = call;
  const reader = new EnvelopeReader(replyMaxBytes);
  // A response without messages has its trailers in the headers.
  let ended = answer.response.headers.has("grpc-status");
  for await (const piece of readPieces(answer)) {
    for (const envelope of reader.read(piece)) {
      if (ended) throw new A2AError("invalidAgentResponse", "the agent's answer continues after its end");
      ended = isEnd(wire, envelope);
      if (!ended) yield envelope.data;
    }
  }
  if (!ended) throw new ConnectionError("the agent's answer broke off before its end", { written: true });
}

/** Returns whether an envelope ends the response. Throws the error that the end carries. */
function isEnd(wire: WebCall["wire"], { flags, data }: Envelope): boolean {
  if (flags === 0) return false;
  if (flags !== wire.endFlags)
    throw new A2AError("invalidAgentResponse", `an envelope of the answer has unknown flags: ${flags}`);
  const error = wire.readEndError(data);
  if (error !== undefined) throw error;
  return true;
}

async function readOnlyMessage(call: WebCall, answer: UnreadAnswer): Promise<Uint8Array> {
  const messages: Uint8Array[] = [];
  for await (const message of readMessages(call, answer)) {
    messages.push(message);
    if (messages.length > 1) break;
  }
  const [message] = messages;
  if (message !== undefined && messages.length === 1) return message;
  throw new A2AError("invalidAgentResponse", `the agent answered with ${messages.length} messages instead of one`);
}

async function readBody({ replyMaxBytes }: WebCall, answer: UnreadAnswer): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of readPieces(answer)) {
    bytes += piece.length;
    if (bytes > replyMaxBytes) {
      throw replyTooLarge(`the agent's answer is over the limit of ${replyMaxBytes} bytes (replyMaxBytes)`);
    }
    pieces.push(piece);
  }
  return concat(pieces, bytes);
}

/** Yields the body as it arrives. Returning early closes the connection. */
async function* readPieces({ response, failure }: UnreadAnswer): AsyncGenerator<Uint8Array, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw failure(cause);
      });
      if (done || value === undefined) return;
      yield value;
    }
  } finally {
    reader.cancel().then(undefined, noop);
  }
}

function decode({ descriptor, replyMaxBytes }: WebCall, bytes: Uint8Array): AnyMessage {
  const schema = descriptor.output;
  const maxValues = maxReplyValues(replyMaxBytes);
  try {
    assertFewFields(schema, bytes, maxValues);
    return fromBinary(schema, bytes, decodeOptions);
  } catch (cause) {
    if (cause instanceof A2AError) throw tooManyReplyValues(maxValues, cause);
    throw new A2AError("invalidAgentResponse", `the reply is not a ${schema.typeName} message`, { cause });
  }
}
