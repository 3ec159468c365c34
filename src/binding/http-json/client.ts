import type { Message as AnyMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { readAnswer } from "../../protocol/codec/json/reading.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError, CallError, invalidParams } from "../../protocol/errors.js";
import { trimSlashes } from "../../protocol/http-routes.js";
import type { Operation, Operations } from "../../protocol/operations.js";
import type { HttpJsonAdapter, HttpRoute } from "../../version/codec.js";
import { parseAnswer, parseOrNothing, readReply, withAnswerHeaders } from "../fetch/answer.js";
import {
  createSender,
  type HttpTransportOptions,
  replyMaxDefault,
  type SendHttp,
  type UnreadAnswer,
} from "../fetch/call.js";
import { readItems, type StreamForm } from "../fetch/item-stream.js";
import { eventStreamType, jsonMediaType } from "../http/media-type.js";
import { cancelable, createTransport, missingOperation } from "../transport.js";

// The client side of HTTP+JSON. A request may have several addresses: with and without the tenant in the path, and for one
// operation with two verbs. Those whose paths take the most of its fields are tried one after another, first with the verb
// that the agent has accepted before, until the agent knows one; its answer is then that of the call.

export interface HttpJsonTransportOptions extends HttpTransportOptions {
  readonly adapter: HttpJsonAdapter;
}

interface HttpClient {
  readonly adapter: HttpJsonAdapter;
  readonly base: string;
  readonly send: SendHttp;
  readonly replyMaxBytes: number;
  readonly onLeftOut: HttpTransportOptions["onLeftOut"];
  /** For operations with two verbs, the one that the agent has accepted. */
  readonly verbs: Map<Operation, string>;
}

/** One outgoing call. */
interface OutgoingRequest {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly options: CallOptions;
  readonly accept: string;
  readonly leaveSignal?: AbortSignal | undefined;
}

/** Creates a client transport for HTTP+JSON over `fetch`. */
export function createHttpJsonTransport(options: HttpJsonTransportOptions): Operations<CallOptions> {
  const { adapter, url, replyMaxBytes = replyMaxDefault, onLeftOut } = options;
  const base = trimSlashes(url);
  const send = createSender(options, adapter);
  const client: HttpClient = { adapter, base, send, replyMaxBytes, onLeftOut, verbs: new Map() };
  const jsonTypes = [...new Set([adapter.mediaType, jsonMediaType])].join(", ");
  const calls = createTransport({
    unary: (operation, request, call) => callUnary(client, { operation, request, options: call, accept: jsonTypes }),
    stream: (operation, request, call) => {
      const accept = `${eventStreamType}, ${jsonTypes}`;
      return cancelable((leaveSignal) =>
        readItems(streamForm, client, { operation, request, options: call, accept, leaveSignal }),
      );
    },
  });
  return adapter.call?.(calls) ?? calls;
}

async function callUnary(client: HttpClient, call: OutgoingRequest): Promise<AnyMessage> {
  const answer = await open(client, call);
  const json = parseAnswer(await readReply(answer, client.replyMaxBytes));
  return readAnswer(client, call.options, () => client.adapter.codec(call.operation).readReply(json, call.request));
}

const streamForm: StreamForm<HttpClient, OutgoingRequest> = {
  send: open,
  readEvent: (_client, data, isNamed) => (isNamed && !isJsonObject(parseOrNothing(data)) ? null : parseEvent(data)),
  readWhole: async ({ replyMaxBytes }, answer) => parseEvent(await readReply(answer, replyMaxBytes)),
};

/** Sends a call and returns the response if it succeeds. */
async function open(client: HttpClient, call: OutgoingRequest): Promise<UnreadAnswer> {
  const { operation } = call;
  const acceptedVerb = client.verbs.get(operation);
  const addresses = listAddresses(client, call, acceptedVerb);
  let failure: A2AError | undefined;
  // The schema and the text of the specification name different verbs for the subscription (D-1), and agents support
  // either. An agent with only POST may read the GET as a request for a task with an odd id.
  for (const address of addresses) {
    const answer = await sendTo(client, call, address);
    if (answer.response.ok) {
      if (addresses.length > 1) client.verbs.set(operation, address.verb);
      return answer;
    }
    const error = await readFailure(client, answer);
    if (isUnrouted(answer, error)) failure ??= error;
    else if (error.code === "taskNotFound" && acceptedVerb === undefined) failure = error;
    else throw error;
  }
  throw failure ?? new TypeError(`no route for ${operation.name}`);
}

/** Where a request goes, split into target and body. */
interface Address {
  readonly verb: string;
  /** Path and query below the interface URL. */
  readonly target: string;
  /** Body text, on a route that has a body. */
  readonly body: string | undefined;
}

/**
 * Returns the addresses to try, best first: the routes whose paths take the most of the request's fields (so a tenant goes
 * into the path), those with the accepted verb before the others. Throws if the version lacks the operation.
 */
function listAddresses(
  { adapter }: HttpClient,
  { operation, request }: OutgoingRequest,
  acceptedVerb: string | undefined,
): Address[] {
  const routes = adapter.routes.filter((route) => route.operation === operation);
  const [usualRoute] = routes;
  if (usualRoute === undefined) throw missingOperation(adapter, operation, "HTTP+JSON");
  const json = adapter.codec(operation).writeRequest(request);
  const fields = isJsonObject(json) ? json : {};
  const filledRoutes = routes.filter((route) => listFields(route).every((field) => isFilled(fields[field])));
  const [first] = filledRoutes;
  if (first === undefined) throw missingFields(usualRoute, fields);
  const longest = Math.max(...filledRoutes.map(({ segments }) => segments.length));
  const preferredVerb = acceptedVerb ?? first.verb;
  return filledRoutes
    .filter(({ segments }) => segments.length === longest)
    .toSorted((a, b) => Number(b.verb === preferredVerb) - Number(a.verb === preferredVerb))
    .map((route) => buildAddress(adapter, route, fields));
}

function listFields({ segments }: HttpRoute): readonly string[] {
  return segments.flatMap((segment) => ("field" in segment ? [segment.field] : []));
}

function isFilled(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value !== "";
}

function missingFields(route: HttpRoute, request: JsonObject): Error {
  const emptyFields = listFields(route).filter((field) => !isFilled(request[field]));
  return invalidParams(...emptyFields.map((field) => ({ field, description: "must not be empty" })));
}

function buildAddress(adapter: HttpJsonAdapter, route: HttpRoute, request: JsonObject): Address {
  const rest: JsonObject = { ...request };
  const path = route.segments.map((segment) => {
    if ("literal" in segment) return segment.literal;
    const value = rest[segment.field];
    delete rest[segment.field];
    return encodeURIComponent(String(value));
  });
  const plain = `/${path.join("/")}${route.suffix}`;
  if (route.hasBody) return { verb: route.verb, target: plain, body: JSON.stringify(rest) };
  const query = adapter.writeQuery(route.operation, rest).toString();
  return { verb: route.verb, target: query === "" ? plain : `${plain}?${query}`, body: undefined };
}

function isUnrouted({ response }: UnreadAnswer, error: A2AError): boolean {
  return response.status === 405 || (response.status === 404 && error.code !== "taskNotFound");
}

function sendTo(
  { adapter, base, send }: HttpClient,
  call: OutgoingRequest,
  { verb, target, body }: Address,
): Promise<UnreadAnswer> {
  const { options, accept, leaveSignal } = call;
  const contentType = body === undefined ? undefined : adapter.mediaType;
  return send({ method: verb, url: base + target, accept, contentType, body, options, leaveSignal });
}

async function readFailure({ adapter, replyMaxBytes }: HttpClient, answer: UnreadAnswer): Promise<A2AError> {
  const { status } = answer.response;
  const json = parseOrNothing(await readReply(answer, replyMaxBytes));
  const error = adapter.readError(status, json);
  return withAnswerHeaders(isJsonObject(json) ? error : fromStatusAlone(error, status), answer.response.headers);
}

/** A reply that is not a JSON object did not come from an agent: `metadata.httpStatus` marks such errors. */
function fromStatusAlone({ code, message }: A2AError, status: number): A2AError {
  return new CallError(code, message, { metadata: { httpStatus: String(status) } });
}

function parseEvent(text: string): JsonValue {
  const json = parseAnswer(text);
  if (json !== undefined) return json;
  throw new A2AError("invalidAgentResponse", "an event of the stream is empty");
}
