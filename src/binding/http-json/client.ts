import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { trimmed } from "../../protocol/http-rules.js";
import type { Operation, Operations } from "../../protocol/operations.js";
import type { HttpJsonAdapter } from "../../version/codec.js";
import { cancelable } from "../cancelable.js";
import { parseAnswer, parseOrNothing, readReply, withAnswerHeaders } from "../fetch/answer.js";
import {
  createSender,
  type HttpTransportOptions,
  type Incoming,
  replyMaxDefault,
  type SendHttp,
} from "../fetch/call.js";
import { readItems, type StreamForm } from "../fetch/item-stream.js";
import { eventStreamType, jsonMediaType } from "../http/media-type.js";
import { createTransport, missingIn } from "../transport.js";
import { type Address, addressesOf } from "./address.js";

export interface HttpJsonTransportOptions extends HttpTransportOptions {
  readonly adapter: HttpJsonAdapter;
}

interface HttpClient {
  readonly adapter: HttpJsonAdapter;
  readonly base: string;
  readonly send: SendHttp;
  readonly replyMaxBytes: number;
  /** For operations with two verbs, the one that the agent has accepted. */
  readonly verbs: Map<Operation, string>;
}

/** One outgoing call. */
interface OutgoingRequest {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly options: CallOptions;
  readonly accept: string;
  readonly left?: AbortSignal | undefined;
}

/** Creates a client transport for HTTP+JSON over `fetch`. */
export function createHttpJsonTransport(options: HttpJsonTransportOptions): Operations<CallOptions> {
  const { adapter, url, replyMaxBytes = replyMaxDefault } = options;
  const base = trimmed(url);
  const send = createSender(options, adapter);
  const client: HttpClient = { adapter, base, send, replyMaxBytes, verbs: new Map() };
  const jsonTypes = [...new Set([adapter.mediaType, jsonMediaType])].join(", ");
  const calls = createTransport({
    unary: (operation, request, call) => callUnary(client, { operation, request, options: call, accept: jsonTypes }),
    stream: (operation, request, call) => {
      const accept = `${eventStreamType}, ${jsonTypes}`;
      return cancelable((left) => readItems(streamForm, client, { operation, request, options: call, accept, left }));
    },
  });
  return adapter.call?.(calls) ?? calls;
}

async function callUnary(client: HttpClient, call: OutgoingRequest): Promise<AnyMessage> {
  const incoming = await open(client, call);
  const json = parseAnswer(await readReply(incoming, client.replyMaxBytes));
  return client.adapter.codec(call.operation).readReply(json, call.request);
}

const streamForm: StreamForm<HttpClient, OutgoingRequest> = {
  send: open,
  readEvent: (_client, data) => eventOf(data),
  readWhole: async ({ replyMaxBytes }, incoming) => eventOf(await readReply(incoming, replyMaxBytes)),
};

/** Sends a call and returns the response if it succeeds. */
async function open(client: HttpClient, call: OutgoingRequest): Promise<Incoming> {
  const { operation } = call;
  const taken = client.verbs.get(operation);
  const addresses = placesOf(client, call, taken);
  let failure: A2AError | undefined;
  // The schema and the text of the specification name different verbs for the subscription (D-1), and agents support
  // either. An agent with only POST may read the GET as a request for a task with an odd id.
  for (const address of addresses) {
    const incoming = await sendTo(client, call, address);
    if (incoming.response.ok) {
      if (addresses.length > 1) client.verbs.set(operation, address.verb);
      return incoming;
    }
    const error = await errorOf(client, incoming);
    if (isUnrouted(incoming, error)) failure ??= error;
    else if (error.code === "taskNotFound" && taken === undefined) failure = error;
    else throw error;
  }
  throw failure ?? new TypeError(`no route for ${operation.name}`);
}

/**
 * Returns the addresses to try, the verb that the agent accepted before first. Throws if the version lacks the
 * operation.
 */
function placesOf(
  { adapter }: HttpClient,
  { operation, request }: OutgoingRequest,
  taken: string | undefined,
): Address[] {
  if (adapter.routes.every((route) => route.operation !== operation)) throw missingIn(adapter, operation, "HTTP+JSON");
  const json = adapter.codec(operation).writeRequest(request);
  const addresses = addressesOf(adapter, operation, isJsonObject(json) ? json : {});
  return addresses.toSorted((a, b) => Number(b.verb === taken) - Number(a.verb === taken));
}

function isUnrouted({ response }: Incoming, error: A2AError): boolean {
  return response.status === 405 || (response.status === 404 && error.code !== "taskNotFound");
}

function sendTo(
  { adapter, base, send }: HttpClient,
  call: OutgoingRequest,
  { verb, target, body }: Address,
): Promise<Incoming> {
  const { options, accept, left } = call;
  const contentType = body === undefined ? undefined : adapter.mediaType;
  return send({ method: verb, url: base + target, accept, contentType, body, options, left });
}

async function errorOf({ adapter, replyMaxBytes }: HttpClient, incoming: Incoming): Promise<A2AError> {
  const { status } = incoming.response;
  const json = parseOrNothing(await readReply(incoming, replyMaxBytes));
  const error = adapter.readError(status, json);
  return withAnswerHeaders(isJsonObject(json) ? error : fromStatusAlone(error, status), incoming.response.headers);
}

/** A reply that is not a JSON object did not come from an agent: `metadata.httpStatus` marks such errors. */
function fromStatusAlone({ code, message }: A2AError, status: number): A2AError {
  return new A2AError(code, message, { metadata: { httpStatus: String(status) } });
}

function eventOf(text: string): JsonValue {
  const json = parseAnswer(text);
  if (json !== undefined) return json;
  throw new A2AError("invalidAgentResponse", "an event of the stream is empty");
}
