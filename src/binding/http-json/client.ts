import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import { readAnswer } from "../../protocol/codec/json/reading.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError, CallError } from "../../protocol/errors.js";
import { trimSlashes } from "../../protocol/http-routes.js";
import type { Operation, Operations } from "../../protocol/operations.js";
import type { HttpJsonAdapter } from "../../version/codec.js";
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
import { type Address, listAddresses } from "./address.js";

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
  const addresses = addressesToTry(client, call, acceptedVerb);
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

/**
 * Returns the addresses to try, the verb that the agent accepted before first. Throws if the version lacks the
 * operation.
 */
function addressesToTry(
  { adapter }: HttpClient,
  { operation, request }: OutgoingRequest,
  acceptedVerb: string | undefined,
): Address[] {
  if (adapter.routes.every((route) => route.operation !== operation))
    throw missingOperation(adapter, operation, "HTTP+JSON");
  const json = adapter.codec(operation).writeRequest(request);
  const addresses = listAddresses(adapter, operation, isJsonObject(json) ? json : {});
  return addresses.toSorted((a, b) => Number(b.verb === acceptedVerb) - Number(a.verb === acceptedVerb));
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
