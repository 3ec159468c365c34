import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import {
  type Binding,
  createContext,
  type OpenContext,
  type Principal,
  type ServerContext,
} from "../../protocol/context.js";
import { A2AError, type ErrorCode, errorTable } from "../../protocol/errors.js";
import { invokeStream, invokeUnary, type Operation, type Operations } from "../../protocol/operations.js";
import { formatExtensions, requestedExtensions, versionParameter } from "../../protocol/service-parameters.js";
import type { JsonRpcFace } from "../../version/codec.js";
import { declaredVersion } from "../../version/detect.js";
import type { Service } from "../service.js";
import { EventStream, type EventStreamForm, eventStreamHeaders } from "./event-stream.js";
import type { HttpReply, HttpRequest } from "./http.js";

// What the two JSON bindings have in common between a request and the operation that it calls.

/** Says who is asking, by the headers alone. */
export async function authenticate(service: Service, binding: Binding, request: HttpRequest): Promise<Principal> {
  return service.authenticate({ binding, header: (name) => request.header(name) });
}

/** The version that a request declares: the header, else the query parameter of that name (spec 3.6.1). */
export function versionOf(request: HttpRequest, served: readonly string[]): string | undefined {
  const value = request.header(versionParameter) ?? queryValue(request.query, versionParameter);
  return declaredVersion(value, served);
}

/** A query parameter by its name, which is compared without case. */
function queryValue(query: string, name: string): string | undefined {
  if (query === "") return undefined;
  for (const [key, value] of new URLSearchParams(query)) {
    if (key.toLowerCase() === name) return value;
  }
  return undefined;
}

export function extensionsOf(service: Service, request: HttpRequest): readonly string[] {
  return service.extensions(requestedExtensions((name) => request.header(name)));
}

/** Bytes that a request may take in memory: what it declares, else all that it is allowed. */
export function expectedBytes(request: HttpRequest, maxBytes: number): number {
  const length = Number(request.header("content-length") ?? Number.NaN);
  return length >= 0 && length <= maxBytes ? length : maxBytes;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

export function decodeBody(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new A2AError("parseError", "the body is not valid UTF-8", { cause });
  }
}

export function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw new A2AError("parseError", "the body is not valid JSON", { cause });
  }
}

/** What a call knows of itself when its request was read. */
export interface HttpCall {
  readonly service: Service;
  readonly request: HttpRequest;
  readonly binding: Binding;
  readonly principal: Principal;
  readonly face: Speaker;
  readonly extensions: readonly string[];
}

/** What a face says of the calls that come through it. */
type Speaker = Pick<JsonRpcFace, "version" | "extensionsName" | "callersNameTasks" | "serve">;

function contextOf({ request, principal, binding, face, extensions }: HttpCall): OpenContext {
  const { version, callersNameTasks } = face;
  const after = request.header("last-event-id");
  return createContext({ principal, binding, version, extensions, callersNameTasks, after, caller: request });
}

// What a version makes of a handler is made once for each of its faces.
const served = new WeakMap<Operations<ServerContext>, WeakMap<object, Operations<ServerContext>>>();

/** The handler as callers of a version expect it. */
export function handlerFor(face: Pick<Speaker, "serve">, service: Pick<Service, "handler">): Operations<ServerContext> {
  if (face.serve === undefined) return service.handler;
  const byFace = served.get(service.handler) ?? new WeakMap<object, Operations<ServerContext>>();
  served.set(service.handler, byFace);
  const handler = byFace.get(face) ?? face.serve(service.handler);
  byFace.set(face, handler);
  return handler;
}

/** Calls an operation that gives one reply; it is told when the peer leaves. */
export function callUnary(call: HttpCall, operation: Operation, message: AnyMessage): Promise<AnyMessage> {
  const context = contextOf(call);
  call.request.onLeave(() => context.leave());
  return invokeUnary(handlerFor(call.face, call.service), operation, message, context);
}

export type StreamForm = Pick<EventStreamForm, "write" | "writeEnd" | "writeFailure">;

/** Answers with a stream of events. Throws when it fails before its first event. */
export async function streamReply(
  call: HttpCall,
  operation: Operation,
  message: AnyMessage,
  form: StreamForm,
): Promise<HttpReply> {
  const { service, request, principal, face, extensions } = call;
  const ended = service.enter({ principal, bytes: 0, streams: true });
  try {
    const context = contextOf(call);
    const items = invokeStream(handlerFor(face, service), operation, message, context);
    const stream = new EventStream(items, { ...form, ended, keepAliveMs: service.limits.keepAliveMs });
    request.onLeave(() => {
      context.leave();
      void stream.return();
    });
    await stream.opened;
    return { status: 200, headers: withExtensions(eventStreamHeaders, face, extensions), body: stream };
  } catch (error) {
    ended();
    throw error;
  }
}

/** Tells the caller which extensions were activated (spec 4.6). */
export function withExtensions(
  headers: Readonly<Record<string, string>>,
  { extensionsName }: Pick<Speaker, "extensionsName">,
  extensions: readonly string[],
): Readonly<Record<string, string>> {
  return extensions.length === 0 ? headers : { ...headers, [extensionsName]: formatExtensions(extensions) };
}

/** Headers that an error brings along, whichever binding says it. */
export function errorHeaders(error: A2AError): Record<string, string> {
  const headers: Record<string, string> = {};
  if (challenged.has(error.code)) {
    const challenge = error.challenge ?? (error.code === "unauthenticated" ? "Bearer" : undefined);
    if (challenge !== undefined) headers["WWW-Authenticate"] = challenge.replace(/[^\t\x20-\x7e\x80-\xff]/g, " ");
  }
  if (error.retryAfterMs !== undefined) headers["Retry-After"] = String(Math.ceil(error.retryAfterMs / 1000));
  return headers;
}

const challenged: ReadonlySet<ErrorCode> = new Set(["unauthenticated", "permissionDenied"]);

export function httpStatusOf(error: A2AError): number {
  return errorTable[error.code].http;
}
