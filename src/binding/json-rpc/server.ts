import { A2AError } from "../../protocol/errors.js";
import type { Operation } from "../../protocol/operations.js";
import type { JsonRpcFace } from "../../version/codec.js";
import { pickFace } from "../../version/detect.js";
import { eventStreamHeaders, formatEvent } from "../event-stream.js";
import type { HttpEndpoint, HttpReply, HttpRequest } from "../http.js";
import {
  authenticate,
  callUnary,
  decodeBody,
  errorHeaders,
  expectedBytes,
  extensionsOf,
  httpStatusOf,
  type StreamForm,
  streamReply,
  versionOf,
  withExtensions,
} from "../http-door.js";
import { assertJson, jsonMediaType, wantsEventStream } from "../media-type.js";
import type { Service } from "../service.js";
import { noId, type RpcRequest, readRpcRequest } from "./envelope.js";

export interface JsonRpcOptions {
  /** Newest first: the first one that knows a method takes the calls that declare no version. */
  readonly faces: readonly JsonRpcFace[];
  readonly service: Service;
}

interface RpcEnd extends JsonRpcOptions {
  readonly newest: JsonRpcFace;
  readonly versions: readonly string[];
}

/** What is known of a call when it fails: the more, the better its error can be said. */
interface Known {
  id: string;
  face: JsonRpcFace;
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
  const rpc: RpcEnd = { faces, service, newest, versions: faces.map(({ version }) => version) };
  return (request) => {
    if (request.path !== "" && request.path !== "/") return undefined;
    if (request.method === "POST") return answer(rpc, request);
    if (request.method === "OPTIONS") return { status: 204, headers: { Allow: allow }, body: undefined };
    const error = new A2AError("methodNotAllowed", "JSON-RPC is called by POST");
    const reply = failure({ id: noId, face: newest, extensions: [], readsEvents: false }, error);
    return { ...reply, headers: { ...reply.headers, Allow: allow } };
  };
}

async function answer(rpc: RpcEnd, request: HttpRequest): Promise<HttpReply> {
  const { service } = rpc;
  const { jsonBodyMaxBytes } = service.limits;
  const known: Known = { id: noId, face: rpc.newest, extensions: [], readsEvents: false };
  let exit: (() => void) | undefined;
  try {
    const principal = await authenticate(service, "json-rpc", request);
    assertJson(request, true);
    exit = service.enter({ principal, bytes: expectedBytes(request, jsonBodyMaxBytes), streams: false });
    const read = readRpcRequest(decodeBody(await request.body(jsonBodyMaxBytes)), (id) => {
      known.id = id;
    });
    // Only now, though headers say it: an error has to carry the id.
    const declared = versionOf(request, rpc.versions, service.strictVersions);
    known.extensions = extensionsOf(service, request);
    const { face, operation } = findMethod(rpc, declared, read, known);
    known.readsEvents = operation.streams && wantsEventStream(request);
    const message = face.codec(operation).readRequest(read.params);
    const { extensions } = known;
    const call = { service, request, binding: "json-rpc", principal, version: face.version, extensions } as const;
    if (operation.streams) return await streamReply(call, operation, message, rpcForm(rpc, known, operation, message));
    const reply = await callUnary(call, operation, message);
    const result = JSON.stringify(face.codec(operation).writeReply(reply, message));
    return {
      status: 200,
      headers: withExtensions(jsonHeaders, extensions),
      body: `{"jsonrpc":"2.0","id":${read.id},"result":${result}}`,
    };
  } catch (error) {
    return failure(known, service.publicError(error));
  } finally {
    exit?.();
  }
}

function findMethod(
  rpc: RpcEnd,
  declared: string | undefined,
  { method }: RpcRequest,
  known: Known,
): { readonly face: JsonRpcFace; readonly operation: Operation } {
  const face = pickFace(rpc.faces, declared, ({ methods }) => methods.has(method));
  known.face = face ?? pickFace(rpc.faces, declared, () => true) ?? rpc.newest;
  const operation = face?.methods.get(method);
  if (face === undefined || operation === undefined) {
    throw new A2AError("methodNotFound", `no method ${JSON.stringify(method.slice(0, 64))}`);
  }
  return { face, operation };
}

function rpcForm(rpc: RpcEnd, known: Known, operation: Operation, message: RequestMessage): StreamForm {
  const writer = known.face.writeStream(operation, message);
  const before = `{"jsonrpc":"2.0","id":${known.id},"result":`;
  return {
    write(item) {
      let text = "";
      for (const event of writer.write(item)) text += formatEvent(event, before, "}");
      return text;
    },
    writeFailure: (error) => formatEvent({ payload: errorText(known, rpc.service.publicError(error)) }),
  };
}

type RequestMessage = Parameters<JsonRpcFace["writeStream"]>[1];

function failure(known: Known, error: A2AError): HttpReply {
  const own = ownStatus.has(httpStatusOf(error));
  const asEvent = known.readsEvents && !own;
  const headers = { ...(asEvent ? eventStreamHeaders : jsonHeaders), ...errorHeaders(error) };
  const text = errorText(known, error);
  return {
    status: own ? httpStatusOf(error) : 200,
    headers: withExtensions(headers, known.extensions),
    body: asEvent ? formatEvent({ payload: text }) : text,
  };
}

function errorText({ id, face }: Known, error: A2AError): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(face.writeError(error))}}`;
}
