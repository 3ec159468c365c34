import type { JsonValue } from "@bufbuild/protobuf";
import { A2AError, changeError, errorForPeer, errorTable } from "../../protocol/errors.js";
import type { Operation } from "../../protocol/operations.js";
import type { JsonRpcAdapter } from "../../version/codec.js";
import { adaptersFor, listVersions } from "../../version/detect.js";
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
  const rpc: RpcEnd = { adapters, service, impliedAdapter, versions: listVersions(adapters) };
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
    await call.authenticate();
    const refusal = errorContext.refusal ?? attempt(() => call.declareExtensions());
    errorContext.refusal = refusal;
    const rpcRequest = await readCall(errorContext, request);
    if (refusal !== undefined) {
      // For a version that is not served, the method alone shows which version the caller can read.
      errorContext.adapter = rpc.adapters.find(({ methods }) => methods.has(rpcRequest.method)) ?? errorContext.adapter;
      throw refusal.error;
    }
    const adapter = await findAdapter(rpc, call, rpcRequest);
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
    const message = await call.decodeMessage(() => codec.readRequest(rpcRequest.params));
    if (operation.streams) {
      const form = rpcForm(errorContext, adapter.writeStream(operation, message));
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
async function readCall(errorContext: CallErrorContext, request: HttpRequest): Promise<RpcRequest> {
  const { call, refusal } = errorContext;
  try {
    call.admit();
    assertJson(request, true);
    const onId = (id: string): void => {
      errorContext.id = id;
    };
    return await readJsonBody(request, call, (text) => readRpcRequest(text, onId));
  } catch (error) {
    throw refusal === undefined ? error : refusal.error;
  }
}

/**
 * Returns the adapter of a call. If several have the method, prefers the one whose caller named the task, then the
 * first.
 */
async function findAdapter(
  { adapters, service }: RpcEnd,
  { declaredVersion, principal }: ServerCall,
  { method, params }: RpcRequest,
): Promise<JsonRpcAdapter | undefined> {
  const detection = { adapters, strict: service.strictVersions };
  const candidates = adaptersFor(detection, declaredVersion, ({ methods }) => methods.has(method));
  if (candidates.length < 2) return candidates[0];
  for (const adapter of candidates) {
    const name = adapter.taskNamedBy?.(params);
    if (name !== undefined && (await service.taskNames.find(principal, name)) !== undefined) return adapter;
  }
  return candidates[0];
}

function rpcForm(errorContext: CallErrorContext, writer: ReturnType<JsonRpcAdapter["writeStream"]>): StreamForm {
  return {
    extensionsName: errorContext.adapter.extensionsName,
    writer,
    before: beforeResult(errorContext.id),
    after: "}",
    writeFailure: (error) => failureEvent(errorContext, errorContext.call.publicError(error)),
  };
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
