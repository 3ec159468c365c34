import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import type { Binding } from "../../protocol/bindings.js";
import { A2AError, errorTable } from "../../protocol/errors.js";
import type { StreamItem } from "../../protocol/operations.js";
import { formatExtensions } from "../../protocol/service-parameters.js";
import type { OperationCodec } from "../../version/codec.js";
import { readDeadline } from "../deadline.js";
import { requestIdHeader } from "../request-id.js";
import type { ServerCall } from "../server-call.js";
import type { CallHead } from "../service.js";
import type { HttpReply, HttpRequest } from "./http.js";
import { EventStream, type EventStreamForm, eventStreamHeaders } from "./reply-writer.js";

// The steps that the HTTP bindings share, in the order of a call: its head, its operation, its reply, and its error.

/** The head of a call over HTTP. */
export function readHead(binding: Binding, request: HttpRequest): CallHead {
  const header = request.headers();
  return {
    binding,
    header,
    query: request.query,
    peer: () => request.remoteAddress,
    certificate: () => request.certificate,
    // Counted from here: the body and the authentication take the caller's time, too.
    deadline: readDeadline(header),
    address: request,
  };
}

export function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw new A2AError("parseError", "the body is not valid JSON", { cause });
  }
}

/** The JSON text of a large reply, in pieces if the version makes it in pieces. */
export function* replyTexts(codec: OperationCodec, reply: AnyMessage, request: AnyMessage): Generator<string> {
  if (codec.replyTexts === undefined) yield JSON.stringify(codec.writeReply(reply, request));
  else yield* codec.replyTexts(reply, request);
}

/** Calls a unary operation. Its signal aborts when the peer leaves. */
export function callUnary(call: ServerCall, request: HttpRequest, message: AnyMessage): Promise<AnyMessage> {
  request.onLeave(() => call.leave());
  return call.unary(message);
}

/** How stream items become text. */
export interface StreamForm extends EventStreamForm {
  readonly extensionsName: string;
}

/** Replies with an event stream. Throws if the stream fails before its first event. */
export async function streamReply(
  call: ServerCall,
  request: HttpRequest,
  items: AsyncIterable<StreamItem>,
  form: StreamForm,
): Promise<HttpReply> {
  const stream = new EventStream(items, form, call);
  request.onLeave(() => {
    call.leave();
    void stream.return();
  });
  await stream.opened;
  return { status: 200, headers: replyHeaders(eventStreamHeaders, form, call), body: stream };
}

/** Adds the id of the request, what limits have left, and the activated extensions (spec 4.6). */
export function replyHeaders(
  headers: Readonly<Record<string, string>>,
  { extensionsName }: { readonly extensionsName: string },
  { requestId, extensions, rateFields }: ServerCall,
): Readonly<Record<string, string>> {
  const withRates = rateFields === undefined ? headers : { ...headers, ...rateFields };
  const withId = { ...withRates, [requestIdHeader]: requestId };
  return extensions.length === 0 ? withId : { ...withId, [extensionsName]: formatExtensions(extensions) };
}

/** HTTP headers of an error, in every binding. */
export function errorHeaders(error: A2AError): Record<string, string> {
  const headers: Record<string, string> = {};
  const { http } = errorTable[error.code];
  if (http === 401 || http === 403) {
    const challenge = error.challenge ?? (error.code === "unauthenticated" ? "Bearer" : undefined);
    if (challenge !== undefined) headers["WWW-Authenticate"] = challenge.replace(/[^\t\x20-\x7e\x80-\xff]/g, " ");
  }
  if (error.retryAfterMs !== undefined) headers["Retry-After"] = String(Math.ceil(error.retryAfterMs / 1000));
  return headers;
}
