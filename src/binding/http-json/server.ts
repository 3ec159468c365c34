import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { A2AError } from "../../protocol/errors.js";
import type { HttpJsonAdapter } from "../../version/codec.js";
import { adaptersFor, listVersions } from "../../version/detect.js";
import {
  callUnary,
  errorHeaders,
  parseJson,
  readHead,
  replyHeaders,
  replyTexts,
  type StreamForm,
  streamReply,
} from "../http/call.js";
import type { HttpEndpoint, HttpReply, HttpRequest, ReplyHead } from "../http/http.js";
import { assertJson, chooseErrorType, chooseReplyType } from "../http/media-type.js";
import { accountReply, encodeReply, formatEvent } from "../http/reply-writer.js";
import { readJsonBody } from "../http/request-body.js";
import { handlerFor, ServerCall } from "../server-call.js";
import type { Service } from "../service.js";
import { readBodyRequest, readQueryRequest } from "./request.js";
import { createRouter, type RouteMatch, type Router } from "./router.js";

// HTTP+JSON (spec 11): a route for each operation.

export interface HttpJsonOptions {
  /** Newest first. Without a declared version, the first adapter with a matching route takes the call. */
  readonly adapters: readonly HttpJsonAdapter[];
  readonly service: Service;
}

interface HttpJsonEnd extends HttpJsonOptions {
  readonly newest: HttpJsonAdapter;
  readonly versions: readonly string[];
  readonly route: Router;
}

/** State of a call collected for its error reply. */
interface CallErrorContext {
  readonly call: ServerCall;
  adapter: HttpJsonAdapter;
  allow?: string | undefined;
}

/** Serves HTTP+JSON below its mount point (spec 11). */
export function httpJsonEndpoint({ adapters, service }: HttpJsonOptions): HttpEndpoint {
  const [newest] = adapters;
  if (newest === undefined) throw new TypeError("the HTTP+JSON binding needs at least one version");
  const end: HttpJsonEnd = {
    adapters,
    service,
    newest,
    versions: listVersions(adapters),
    route: createRouter(adapters),
  };
  return (request) => (request.method === "OPTIONS" ? options(end, request) : answer(end, request));
}

function openCall(end: HttpJsonEnd, request: HttpRequest): CallErrorContext {
  const call = new ServerCall(end.service, readHead("HTTP+JSON", request));
  return { call, adapter: adapterAt(end, request.path) };
}

async function answer(end: HttpJsonEnd, request: HttpRequest): Promise<HttpReply> {
  const { service } = end;
  const errorContext = openCall(end, request);
  const { call } = errorContext;
  let endsWithReply = false;
  try {
    const caller = call.authenticate();
    if (caller !== undefined) await caller;
    call.declare(end.versions);
    const { declaredVersion } = call;
    errorContext.adapter = end.adapters.find(({ version }) => version === declaredVersion) ?? errorContext.adapter;
    const match = findRoute(end, request, errorContext);
    const { adapter, route } = match;
    const { operation } = route;
    call.target = { adapter, operation, handler: handlerFor(adapter, service) };
    call.admit();
    const message = await readRequest(match, request, call);
    const codec = adapter.codec(operation);
    if (operation.streams) {
      const form = streamForm(call, adapter, adapter.writeStream(operation, message));
      const reply = await streamReply(call, request, call.stream(message), form);
      endsWithReply = true;
      return reply;
    }
    const response = await callUnary(call, request, message);
    const head = jsonHead(200, errorContext, chooseReplyType(request, adapter.mediaType));
    const reply = call.isLarge(response)
      ? await encodeReply(call, head, response, replyTexts(codec, response, message))
      : accountReply(call, { ...head, body: JSON.stringify(codec.writeReply(response, message)) });
    endsWithReply = typeof reply.body !== "string";
    return reply;
  } catch (error) {
    return failure(request, errorContext, error);
  } finally {
    // A stream counts until it ends, a large reply until it is taken.
    if (!endsWithReply) call.end();
  }
}

/** Picks the adapter that writes errors if the caller declares no version, by the first path segment. */
function adapterAt({ adapters, newest }: HttpJsonEnd, path: string): HttpJsonAdapter {
  const [, first] = path.split(/[/:]/, 2);
  const begins = ({ routes }: HttpJsonAdapter): boolean =>
    routes.some(
      ({ segments: [segment] }) => segment !== undefined && "literal" in segment && segment.literal === first,
    );
  return adapters.find(begins) ?? newest;
}

function options(end: HttpJsonEnd, request: HttpRequest): HttpReply {
  try {
    const result = end.route(request.method, request.path, (hasRoute) => end.adapters.filter(hasRoute));
    const verbs = "allow" in result ? result.allow : [];
    return { status: 204, headers: { Allow: [...verbs, "OPTIONS"].join(", ") }, body: undefined };
  } catch (error) {
    const errorContext = openCall(end, request);
    const reply = failure(request, errorContext, error);
    errorContext.call.end();
    return reply;
  }
}

function findRoute(end: HttpJsonEnd, request: HttpRequest, errorContext: CallErrorContext): RouteMatch {
  const { declaredVersion } = errorContext.call;
  const detection = { adapters: end.adapters, strict: end.service.strictVersions };
  const result = end.route(request.method, request.path, (hasRoute) =>
    adaptersFor(detection, declaredVersion, hasRoute),
  );
  if ("match" in result) {
    errorContext.adapter = result.match.adapter;
    return result.match;
  }
  if (result.allow.length === 0) throw new A2AError("methodNotFound", "no such path");
  errorContext.allow = [...result.allow, "OPTIONS"].join(", ");
  throw new A2AError("methodNotAllowed", `this path is called by ${result.allow.join(" or ")}`);
}

async function readRequest(match: RouteMatch, request: HttpRequest, call: ServerCall): Promise<AnyMessage> {
  const { adapter, route } = match;
  if (request.method === "POST") assertJson(request, false);
  const codec = adapter.codec(route.operation);
  // Routes without a body ignore one: some peers send one without meaning.
  if (!route.hasBody) return codec.readRequest(readQueryRequest(match, request.query));
  const json = await readJsonBody(request, call, (text) => (text === "" ? undefined : parseJson(text)));
  return call.decodeMessage(() => codec.readRequest(readBodyRequest(match, request.query, json)));
}

function streamForm(
  call: ServerCall,
  adapter: HttpJsonAdapter,
  writer: ReturnType<HttpJsonAdapter["writeStream"]>,
): StreamForm {
  return {
    extensionsName: adapter.extensionsName,
    writer,
    writeFailure(error) {
      const payload = JSON.stringify(adapter.writeError(call.publicError(error)));
      return formatEvent({ payload, name: adapter.failureName });
    },
  };
}

function failure(request: HttpRequest, errorContext: CallErrorContext, cause: unknown): HttpReply {
  const { call, adapter, allow } = errorContext;
  const error = call.publicError(cause);
  const headers = errorHeaders(error);
  if (allow !== undefined) headers["Allow"] = allow;
  const head = jsonHead(call.chooseHttpStatus(error), errorContext, chooseErrorType(request));
  const body = JSON.stringify(adapter.writeError(error));
  call.countReply(body);
  return { ...head, headers: { ...head.headers, ...headers }, body };
}

function jsonHead(status: number, { adapter, call }: CallErrorContext, type: string): ReplyHead {
  // A shared cache could serve a task to another caller.
  const headers = { "Content-Type": type, "Cache-Control": "no-store, no-transform" };
  return { status, headers: replyHeaders(headers, adapter, call) };
}
