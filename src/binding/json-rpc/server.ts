import { A2AError, toldError } from "../../protocol/errors.js";
import type { Operation } from "../../protocol/operations.js";
import type { JsonRpcFace } from "../../version/codec.js";
import { facesFor, versionsOf } from "../../version/detect.js";
import {
  callUnary,
  decodeBody,
  errorHeaders,
  expectedBytes,
  headOf,
  httpStatusOf,
  type StreamForm,
  streamReply,
  withExtensions,
} from "../http/call.js";
import { eventStreamHeaders, formatEvent } from "../http/event-stream.js";
import type { HttpEndpoint, HttpReply, HttpRequest } from "../http/http.js";
import { assertJson, jsonMediaType, wantsEventStream } from "../http/media-type.js";
import { authenticate, declaredBy, handlerFor, type ServerCall } from "../server-call.js";
import type { Service } from "../service.js";
import { assertWhole, noId, type RpcRequest, readRpcRequest } from "./envelope.js";

export interface JsonRpcOptions {
  /** Newest first: of those that know a method the first one takes the calls that declare no version. */
  readonly faces: readonly JsonRpcFace[];
  readonly service: Service;
}

interface RpcEnd extends JsonRpcOptions {
  /** Says what goes wrong with callers who declare no version. */
  readonly implied: JsonRpcFace;
  readonly versions: readonly string[];
}

/** What is known of a call when it fails: the more, the better its error can be said. */
interface Known {
  id: string;
  face: JsonRpcFace;
  operation?: Operation;
  extensions: readonly string[];
  /** The operation gives a stream, and its caller reads nothing else. */
  readsEvents: boolean;
}

const allow = "POST, OPTIONS";
const jsonHeaders: Readonly<Record<string, string>> = { "Content-Type": jsonMediaType };
/** Errors that say something of HTTP itself keep their status; all others come with 200 (readers drop them otherwise). */
const ownStatus: ReadonlySet<number> = new Set([401, 403, 405, 413, 415, 503]);

/** The server end of JSON-RPC 2.0: one URL, every method of every face (spec 9). */
export function jsonRpcEndpoint({ faces, service }: JsonRpcOptions): HttpEndpoint {
  const [newest] = faces;
  if (newest === undefined) throw new TypeError("the JSON-RPC binding needs at least one version");
  const implied = faces.find(({ isImplied }) => isImplied) ?? newest;
  const rpc: RpcEnd = { faces, service, implied, versions: versionsOf(faces) };
  return (request) => {
    if (request.path !== "" && request.path !== "/") return undefined;
    if (request.method === "POST") return answer(rpc, request);
    if (request.method === "OPTIONS") return { status: 204, headers: { Allow: allow }, body: undefined };
    const error = new A2AError("methodNotAllowed", "JSON-RPC is called by POST");
    const reply = failure({ id: noId, face: faceOf(rpc, request), extensions: [], readsEvents: false }, error);
    return { ...reply, headers: { ...reply.headers, Allow: allow } };
  };
}

async function answer(rpc: RpcEnd, request: HttpRequest): Promise<HttpReply> {
  const { service, versions } = rpc;
  const known: Known = { id: noId, face: faceOf(rpc, request), extensions: [], readsEvents: false };
  let call: ServerCall | undefined;
  let reply: HttpReply | undefined;
  try {
    call = await authenticate(service, headOf("json-rpc", request));
    const refusal = refusalOf(call, versions);
    known.extensions = call.extensions;
    const read = await readCall(call, request, { known, refusal });
    if (refusal !== undefined) {
      // In a version that is not served the method alone tells who has to understand the refusal.
      known.face = rpc.faces.find(({ methods }) => methods.has(read.method)) ?? known.face;
      throw refusal.error;
    }
    const face = await spokenFace(rpc, call, read);
    known.face = face ?? known.face;
    if (face?.takesNotifications !== true) assertWhole(read);
    const operation = face?.methods.get(read.method);
    if (face === undefined || operation === undefined) {
      throw new A2AError("methodNotFound", `no method ${JSON.stringify(read.method.slice(0, 64))}`);
    }
    known.operation = operation;
    known.readsEvents = operation.streams && wantsEventStream(request);
    const message = face.codec(operation).readRequest(read.params);
    const target = { face, operation, handler: handlerFor(face, service) };
    if (operation.streams) {
      const form = rpcForm(rpc, known, operation, message);
      reply = await streamReply(call, request, call.stream(target, message), form);
      return reply;
    }
    const answered = await callUnary(call, target, { request, message });
    if (read.id === undefined) return { status: 204, headers: {}, body: undefined };
    const result = JSON.stringify(face.codec(operation).writeReply(answered, message));
    return {
      status: 200,
      headers: withExtensions(jsonHeaders, face, known.extensions),
      body: `{"jsonrpc":"2.0","id":${read.id},"result":${result}}`,
    };
  } catch (error) {
    return failure(known, service.publicError(error));
  } finally {
    // A stream counts until it ends.
    if (reply === undefined) call?.end();
  }
}

type Refusal = { readonly error: unknown } | undefined;

/** What is wrong with what the headers declare. It is said once the id is known, which the error has to carry. */
function refusalOf(call: ServerCall, versions: readonly string[]): Refusal {
  try {
    call.declare(versions);
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** Admits a call and reads its request. */
async function readCall(
  call: ServerCall,
  request: HttpRequest,
  { known, refusal }: { readonly known: Known; readonly refusal: Refusal },
): Promise<RpcRequest> {
  const { jsonBodyMaxBytes } = call.service.limits;
  try {
    call.admit(expectedBytes(request, jsonBodyMaxBytes));
    assertJson(request, true);
    return readRpcRequest(decodeBody(await request.body(jsonBodyMaxBytes)), (id) => {
      known.id = id;
    });
  } catch (error) {
    throw refusal === undefined ? error : refusal.error;
  }
}

/** The face that says what goes wrong before a method is known. */
function faceOf({ faces, implied, versions }: RpcEnd, request: HttpRequest): JsonRpcFace {
  try {
    const declared = declaredBy(headOf("json-rpc", request), versions);
    return faces.find(({ version }) => version === declared) ?? implied;
  } catch {
    return implied;
  }
}

/** The face of a call: where several know the method, that of the caller who has named the task so, else the first. */
async function spokenFace(
  { faces, service }: RpcEnd,
  { declared, principal }: ServerCall,
  { method, params }: RpcRequest,
): Promise<JsonRpcFace | undefined> {
  const detection = { faces, strict: service.strictVersions };
  const able = facesFor(detection, declared, ({ methods }) => methods.has(method));
  if (able.length < 2) return able[0];
  for (const face of able) {
    const name = face.taskNamedBy?.(params);
    if (name !== undefined && (await service.knowsTaskName(principal, name))) return face;
  }
  return able[0];
}

function rpcForm(rpc: RpcEnd, known: Known, operation: Operation, message: RequestMessage): StreamForm {
  const writer = known.face.writeStream(operation, message);
  const before = `{"jsonrpc":"2.0","id":${known.id},"result":`;
  return {
    extensionsName: known.face.extensionsName,
    write(item) {
      let text = "";
      for (const event of writer.write(item)) text += formatEvent(event, before, "}");
      return text;
    },
    writeEnd: () => (writer.end?.() ?? []).map((event) => formatEvent(event, before, "}")).join(""),
    writeFailure: (error) => failureEvent(known, rpc.service.publicError(error)),
  };
}

type RequestMessage = Parameters<JsonRpcFace["writeStream"]>[1];

function failure(known: Known, thrown: A2AError): HttpReply {
  const own = ownStatus.has(httpStatusOf(thrown));
  const error = inOwnWords(thrown);
  const asEvent = known.readsEvents && !own;
  const headers = { ...(asEvent ? eventStreamHeaders : jsonHeaders), ...errorHeaders(error) };
  return {
    status: own ? httpStatusOf(thrown) : 200,
    headers: withExtensions(headers, known.face, known.extensions),
    body: asEvent ? failureEvent(known, error) : errorText(known, error),
  };
}

/** HTTP alone tells a body that cannot be read from content that is not accepted: the protocol has one error for both. */
function inOwnWords(error: A2AError): A2AError {
  const { code, message, cause, violations, metadata } = error;
  if (code !== "unsupportedMediaType") return error;
  return toldError(new A2AError("contentTypeNotSupported", message, { cause, violations, metadata }));
}

function failureEvent(known: Known, error: A2AError): string {
  return formatEvent({ payload: errorText(known, error), name: known.face.failureName });
}

function errorText({ id, face, operation }: Known, error: A2AError): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(face.writeError(error, operation))}}`;
}
