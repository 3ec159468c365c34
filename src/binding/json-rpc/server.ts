import type { JsonValue } from "@bufbuild/protobuf";
import { A2AError, changeError, errorForPeer, errorTable } from "../../protocol/errors.js";
import type { Operation } from "../../protocol/operations.js";
import type { JsonRpcAdapter } from "../../version/codec.js";
import { listVersions, selectVersion } from "../../version/detect.js";
import {
  callUnary,
  errorHeaders,
  readHead,
  replyHeaders,
  replyTexts,
  type StreamForm,
  streamReply,
} from "../http/call.js";
import type { HttpEndpoint, HttpReply, HttpRequest } from "../http/http.js";
import { assertJson, jsonMediaType, wantsEventStream } from "../http/media-type.js";
import { accountReply, encodeReply, eventStreamHeaders, formatEvent } from "../http/reply-writer.js";
import { readJsonBody } from "../http/request-body.js";
import { handlerFor, ServerCall } from "../server-call.js";
import type { Service } from "../service.js";
import { assertComplete, noId, type RpcRequest, readRpcRequest } from "./envelope.js";

// JSON-RPC (spec 9): one path, with the method in the body.

export interface JsonRpcOptions {
  /** Newest first. Calls that declare no version go to the first adapter that has the method. */
  readonly adapters: readonly JsonRpcAdapter[];
  readonly service: Service;
}

interface RpcEnd extends JsonRpcOptions {
  /** Writes errors for callers that declare no version. */
  readonly impliedAdapter: JsonRpcAdapter;
  readonly versions: readonly string[];
  /** The adapters that have a method, newest first. */
  readonly byMethod: ReadonlyMap<string, readonly JsonRpcAdapter[]>;
}

/** The facts about a failed call that are known. They decide the form of the error. */
interface CallErrorContext {
  readonly call: ServerCall;
  id: string;
  adapter: JsonRpcAdapter;
  operation?: Operation;
  /** An error in what the headers declare. It is sent once the id is known, which the response must carry. */
  refusal: Refusal;
  /** Whether the operation streams, so that its caller reads only events. */
  readsEvents: boolean;
}

const allow = "POST, OPTIONS";
const jsonHeaders: Readonly<Record<string, string>> = { "Content-Type": jsonMediaType };

/** The server side of JSON-RPC 2.0: one URL for every method of every adapter (spec 9). */
export function jsonRpcEndpoint({ adapters, service }: JsonRpcOptions): HttpEndpoint {
  const [newest] = adapters;
  if (newest === undefined) throw new TypeError("the JSON-RPC binding needs at least one version");
  const impliedAdapter = adapters.find(({ isImplied }) => isImplied) ?? newest;
  const versions = listVersions(adapters);
  const rpc: RpcEnd = { adapters, service, impliedAdapter, versions, byMethod: groupByMethod(adapters) };
  return (request) => {
    if (request.path !== "" && request.path !== "/") return undefined;
    if (request.method === "POST") return answer(rpc, request);
    if (request.method === "OPTIONS") return { status: 204, headers: { Allow: allow }, body: undefined };
    const errorContext = openCall(rpc, request);
    const reply = failure(errorContext, new A2AError("methodNotAllowed", "JSON-RPC is called by POST"));
    errorContext.call.end();
    return { ...reply, headers: { ...reply.headers, Allow: allow } };
  };
}

function groupByMethod(adapters: readonly JsonRpcAdapter[]): ReadonlyMap<string, readonly JsonRpcAdapter[]> {
  const methods = new Set(adapters.flatMap((adapter) => [...adapter.methods.keys()]));
  return new Map([...methods].map((method) => [method, adapters.filter((adapter) => adapter.methods.has(method))]));
}

/** Opens a call. Reads its version before anything else, since that decides the form of every error. */
function openCall({ adapters, service, impliedAdapter, versions }: RpcEnd, request: HttpRequest): CallErrorContext {
  const call = new ServerCall(service, readHead("JSONRPC", request));
  const refusal = attempt(() => call.declareVersion(versions));
  const adapter = adapters.find(({ version }) => version === call.declaredVersion) ?? impliedAdapter;
  return { call, id: noId, adapter, refusal, readsEvents: false };
}

async function answer(rpc: RpcEnd, request: HttpRequest): Promise<HttpReply> {
  const { service } = rpc;
  const errorContext = openCall(rpc, request);
  const { call } = errorContext;
  let endsWithReply = false;
  try {
    const caller = call.authenticate();
    if (caller !== undefined) await caller;
    errorContext.refusal ??= attempt(() => call.declareExtensions());
    if (errorContext.refusal !== undefined) throw await readRefusedCall(rpc, errorContext, request);
    const rpcRequest = await readCall(errorContext, request);
    const detection = { adapters: rpc.adapters, strict: service.strictVersions };
    const knowing = rpc.byMethod.get(rpcRequest.method) ?? [];
    const candidates = selectVersion(detection, call.declaredVersion, knowing);
    const adapter = candidates.length < 2 ? candidates[0] : await chooseAdapter(candidates, call, rpcRequest);
    errorContext.adapter = adapter ?? errorContext.adapter;
    if (adapter?.takesPartialEnvelopes !== true) assertComplete(rpcRequest);
    const operation = adapter?.methods.get(rpcRequest.method);
    if (adapter === undefined || operation === undefined) {
      throw new A2AError("methodNotFound", `no method ${JSON.stringify(rpcRequest.method.slice(0, 64))}`);
    }
    errorContext.operation = operation;
    errorContext.readsEvents = operation.streams && wantsEventStream(request);
    call.target = { adapter, operation, handler: handlerFor(adapter, service) };
    const codec = adapter.codec(operation);
    const decoded = call.decodeMessage(() => codec.readRequest(rpcRequest.params));
    const message = decoded instanceof Promise ? await decoded : decoded;
    if (operation.streams) {
      const form = new RpcForm(errorContext, adapter.writeStream(operation, message));
      const reply = await streamReply(call, request, call.stream(message), form);
      endsWithReply = true;
      return reply;
    }
    const response = await callUnary(call, request, message);
    const head = { status: 200, headers: replyHeaders(jsonHeaders, adapter, call) };
    const reply = call.isLarge(response)
      ? await encodeReply(call, head, response, resultTexts(rpcRequest.id, replyTexts(codec, response, message)))
      : accountReply(call, { ...head, body: resultText(rpcRequest.id, codec.writeReply(response, message)) });
    endsWithReply = typeof reply.body !== "string";
    return reply;
  } catch (error) {
    return failure(errorContext, error);
  } finally {
    // A stream stays admitted until it ends, a large reply until it is taken.
    if (!endsWithReply) call.end();
  }
}

function resultText(id: string, result: JsonValue): string {
  return `${beforeResult(id)}${JSON.stringify(result)}}`;
}

function* resultTexts(id: string, result: Iterable<string>): Generator<string> {
  yield beforeResult(id);
  yield* result;
  yield "}";
}

function beforeResult(id: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":`;
}

type Refusal = { readonly error: unknown } | undefined;

function attempt(step: () => void): Refusal {
  try {
    step();
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** Admits a call and parses its request. */
function readCall(errorContext: CallErrorContext, request: HttpRequest): Promise<RpcRequest> {
  const { call } = errorContext;
  call.admit();
  assertJson(request, true);
  const onId = (id: string): void => {
    errorContext.id = id;
  };
  return readJsonBody(request, call, (text) => readRpcRequest(text, onId));
}

/**
 * Reads a call whose headers are refused, for its id and its method: they decide the form of the error. Resolves with
 * the refusal.
 */
async function readRefusedCall(
  { byMethod }: RpcEnd,
  errorContext: CallErrorContext,
  request: HttpRequest,
): Promise<unknown> {
  try {
    const { method } = await readCall(errorContext, request);
    // For a version that is not served, the method alone shows which version the caller can read.
    errorContext.adapter = byMethod.get(method)?.[0] ?? errorContext.adapter;
  } catch {
    // The refusal came first.
  }
  return errorContext.refusal?.error;
}

/** Prefers the adapter whose caller named the task, then the first. */
async function chooseAdapter(
  candidates: readonly JsonRpcAdapter[],
  { principal, service }: ServerCall,
  { params }: RpcRequest,
): Promise<JsonRpcAdapter | undefined> {
  for (const adapter of candidates) {
    const name = adapter.taskNamedBy?.(params);
    if (name !== undefined && (await service.taskNames.find(principal, name)) !== undefined) return adapter;
  }
  return candidates[0];
}

/** The form of one stream: an event is a whole response. There is one for each open stream, so it has no closures. */
class RpcForm implements StreamForm {
  readonly writer: StreamForm["writer"];
  readonly before: string;
  readonly #errorContext: CallErrorContext;

  constructor(errorContext: CallErrorContext, writer: StreamForm["writer"]) {
    this.writer = writer;
    this.before = beforeResult(errorContext.id);
    this.#errorContext = errorContext;
  }

  get extensionsName(): string {
    return this.#errorContext.adapter.extensionsName;
  }

  get after(): string {
    return "}";
  }

  writeFailure(error: unknown): string {
    return failureEvent(this.#errorContext, this.#errorContext.call.publicError(error));
  }
}

function failure(errorContext: CallErrorContext, cause: unknown): HttpReply {
  const { call, adapter } = errorContext;
  const error = call.publicError(cause);
  const keepsStatus = errorTable[error.code].keepsHttpStatus;
  const asEvent = errorContext.readsEvents && !keepsStatus;
  const headers = { ...(asEvent ? eventStreamHeaders : jsonHeaders), ...errorHeaders(error) };
  const body = asEvent ? failureEvent(errorContext, error) : errorText(errorContext, error);
  call.countReply(body);
  return {
    status: keepsStatus ? call.chooseHttpStatus(error) : 200,
    headers: replyHeaders(headers, adapter, call),
    body,
  };
}

/** Only HTTP distinguishes an unreadable body from unaccepted content. The protocol has one error for both. */
function asProtocolError(error: A2AError): A2AError {
  if (error.code !== "unsupportedMediaType") return error;
  return errorForPeer(changeError(error, { code: "contentTypeNotSupported" }));
}

function failureEvent(errorContext: CallErrorContext, error: A2AError): string {
  return formatEvent({ payload: errorText(errorContext, error), name: errorContext.adapter.failureName });
}

function errorText({ id, adapter, operation }: CallErrorContext, error: A2AError): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(adapter.writeError(asProtocolError(error), operation))}}`;
}
