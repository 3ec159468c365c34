import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import type { Operation, Operations, StreamItem } from "../../protocol/operations.js";
import type { HttpJsonFace } from "../../version/codec.js";
import { leavable } from "../cancelable.js";
import {
  isEventStream,
  parseAnswer,
  parseOrNothing,
  readEvents,
  readText,
  withAnswerHeaders,
} from "../fetch/answer.js";
import {
  createSender,
  type HttpTransportOptions,
  type Incoming,
  replyMaxDefault,
  type SendHttp,
} from "../fetch/call.js";
import { eventStreamType, jsonMediaType } from "../http/media-type.js";
import { createTransport, missingIn } from "../transport.js";
import { type Address, addressesOf } from "./address.js";

export interface HttpJsonTransportOptions extends HttpTransportOptions {
  readonly face: HttpJsonFace;
}

interface HttpClient {
  readonly face: HttpJsonFace;
  readonly base: string;
  readonly send: SendHttp;
  readonly replyMaxBytes: number;
  readonly eventMaxLength: number;
}

/** One call on its way out. */
interface Outgoing {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly options: CallOptions;
  readonly accept: string;
  readonly left?: AbortSignal | undefined;
}

/** The client end of HTTP+JSON: calls an agent by `fetch`. */
export function createHttpJsonTransport(options: HttpJsonTransportOptions): Operations<CallOptions> {
  const { face, url, replyMaxBytes = replyMaxDefault, eventMaxLength = replyMaxDefault } = options;
  const base = url.replace(/\/+$/, "");
  const client: HttpClient = { face, base, send: createSender(options, face), replyMaxBytes, eventMaxLength };
  const jsonTypes = [...new Set([face.mediaType, jsonMediaType])].join(", ");
  const calls = createTransport({
    unary: (operation, request, call) => callUnary(client, { operation, request, options: call, accept: jsonTypes }),
    stream: (operation, request, call) => {
      const accept = `${eventStreamType}, ${jsonTypes}`;
      return leavable((left) => callStream(client, { operation, request, options: call, accept, left }));
    },
  });
  return face.call?.(calls) ?? calls;
}

async function callUnary(client: HttpClient, call: Outgoing): Promise<AnyMessage> {
  const incoming = await open(client, call);
  const json = parseAnswer(await readText(incoming, client.replyMaxBytes));
  return client.face.codec(call.operation).readReply(json, call.request);
}

async function* callStream(client: HttpClient, call: Outgoing): AsyncGenerator<StreamItem, void, undefined> {
  const reader = client.face.readStream(call.operation, call.request);
  try {
    const incoming = await open(client, call);
    if (!isEventStream(incoming)) {
      yield* reader.read(eventOf(await readText(incoming, client.replyMaxBytes)));
      return;
    }
    for await (const events of readEvents(incoming, client.eventMaxLength)) {
      for (const { data, id, event: name } of events) {
        for (const item of reader.read(eventOf(data), { id, name })) yield item;
        if (reader.isOver === true) return;
      }
    }
  } catch (error) {
    if (call.left?.aborted !== true) throw error;
  }
}

/** Sends a call and gives its answer when that is a success. */
async function open(client: HttpClient, call: Outgoing): Promise<Incoming> {
  const { operation, request } = call;
  if (client.face.routes.every((route) => route.operation !== operation))
    throw missingIn(client.face, operation, "HTTP+JSON");
  const json = client.face.codec(operation).writeRequest(request);
  const [first, second] = addressesOf(client.face, operation, isJsonObject(json) ? json : {});
  if (first === undefined) throw new TypeError(`no route for ${operation.name}`);
  const incoming = await sendTo(client, call, first);
  if (incoming.response.ok) return incoming;
  const error = await errorOf(client, incoming);
  // The schema and the text of the specification name different verbs for the subscription (D-1): agents have either.
  if (second === undefined || !isWrongVerb(incoming, error)) throw error;
  const other = await sendTo(client, call, second);
  if (other.response.ok) return other;
  const otherError = await errorOf(client, other);
  throw isWrongVerb(other, otherError) ? error : otherError;
}

function isWrongVerb({ response }: Incoming, error: A2AError): boolean {
  return response.status === 405 || (response.status === 404 && error.code !== "taskNotFound");
}

function sendTo({ face, base, send }: HttpClient, call: Outgoing, { verb, target, body }: Address): Promise<Incoming> {
  const { options, accept, left } = call;
  const contentType = body === undefined ? undefined : face.mediaType;
  return send({ method: verb, url: base + target, accept, contentType, body, options, left });
}

async function errorOf({ face, replyMaxBytes }: HttpClient, incoming: Incoming): Promise<A2AError> {
  const { status } = incoming.response;
  const json = parseOrNothing(await readText(incoming, replyMaxBytes));
  const error = face.readError(status, json);
  return withAnswerHeaders(isJsonObject(json) ? error : fromStatusAlone(error, status), incoming.response.headers);
}

/** What is no JSON was said by whatever stands at the address: `metadata.httpStatus` tells it from an agent's error. */
function fromStatusAlone({ code, message }: A2AError, status: number): A2AError {
  return new A2AError(code, message, { metadata: { httpStatus: String(status) } });
}

function eventOf(text: string): JsonValue {
  const json = parseAnswer(text);
  if (json !== undefined) return json;
  throw new A2AError("invalidAgentResponse", "an event of the stream is empty");
}
