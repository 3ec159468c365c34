import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import { readAnswer } from "../../protocol/codec/json/reading.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import type { CallOptions } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import type { Operation, Operations } from "../../protocol/operations.js";
import type { JsonRpcAdapter } from "../../version/codec.js";
import {
  errorFromHttpStatus,
  parseAnswer,
  parseOrNothing,
  readReply,
  withAnswerHeaders,
  withStatus,
} from "../fetch/answer.js";
import {
  createSender,
  type HttpTransportOptions,
  replyMaxDefault,
  type SendHttp,
  type UnreadAnswer,
} from "../fetch/call.js";
import { readItems, type StreamForm } from "../fetch/item-stream.js";
import { eventStreamType, jsonMediaType } from "../http/media-type.js";
import { cancelable, createTransport, missingOperation, OtherVersionError } from "../transport.js";

export interface JsonRpcTransportOptions extends HttpTransportOptions {
  readonly adapter: JsonRpcAdapter;
  /**
   * Whether the agent's support for this version is uncertain. A reply in an older version's form then throws
   * `OtherVersionError`.
   */
  readonly isGuess?: boolean | undefined;
}

interface RpcClient {
  readonly adapter: JsonRpcAdapter;
  readonly send: SendHttp;
  readonly url: string;
  readonly nextId: () => number;
  readonly isGuess: boolean;
  readonly replyMaxBytes: number;
  readonly onLeftOut: HttpTransportOptions["onLeftOut"];
}

interface RpcCall {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly options: CallOptions;
  readonly leaveSignal?: AbortSignal;
}

/** The client transport for JSON-RPC, over `fetch`. */
export function createJsonRpcTransport(options: JsonRpcTransportOptions): Operations<CallOptions> {
  const { adapter, url, isGuess = false, replyMaxBytes = replyMaxDefault, onLeftOut } = options;
  let lastId = 0;
  const client: RpcClient = {
    adapter,
    send: createSender(options, adapter),
    url,
    nextId: () => ++lastId,
    isGuess,
    replyMaxBytes,
    onLeftOut,
  };
  const calls = createTransport({
    unary: async (operation, request, callOptions) => {
      const call = { operation, request, options: callOptions };
      return operation.name === "getExtendedAgentCard" && adapter.extendedCardUrl !== undefined
        ? readExtendedCard(client, call, adapter.extendedCardUrl(url))
        : callUnary(client, call);
    },
    stream: (operation, request, callOptions) =>
      cancelable((leaveSignal) =>
        readItems(streamForm, client, { operation, request, options: callOptions, leaveSignal }),
      ),
  });
  return adapter.call?.(calls) ?? calls;
}

function post({ adapter, nextId, send, url }: RpcClient, call: RpcCall, accept: string): Promise<UnreadAnswer> {
  const { operation, request, options, leaveSignal } = call;
  const method = adapter.findMethod(operation);
  if (method === undefined) throw missingOperation(adapter, operation, "JSONRPC");
  const params = adapter.codec(operation).writeRequest(request);
  const body = JSON.stringify({ jsonrpc: "2.0", id: nextId(), method, params });
  return send({ method: "POST", url, accept, contentType: jsonMediaType, body, options, leaveSignal });
}

async function callUnary(client: RpcClient, call: RpcCall): Promise<AnyMessage> {
  const { operation, request, options } = call;
  const result = await readResult(client, await post(client, call, jsonMediaType));
  return readAnswer(client, options, () => client.adapter.codec(operation).readReply(result, request));
}

/** Reads the extended card in versions that use GET for it and report errors by status alone. */
async function readExtendedCard(
  { adapter, send, replyMaxBytes }: RpcClient,
  { operation, request, options }: RpcCall,
  url: string,
): Promise<AnyMessage> {
  const answer = await send({ method: "GET", url, accept: jsonMediaType, options });
  const text = await readReply(answer, replyMaxBytes);
  if (answer.response.ok) return adapter.codec(operation).readReply(parseAnswer(text), request);
  const { status, headers } = answer.response;
  if (status !== 404) throw withAnswerHeaders(errorFromHttpStatus(answer), headers);
  throw new A2AError("extendedAgentCardNotConfigured", "the agent has no extended card");
}

/** Reads the result of a reply that is one JSON object. An error object is read whatever the HTTP status is. */
async function readResult(client: RpcClient, answer: UnreadAnswer): Promise<JsonValue | undefined> {
  const { adapter, replyMaxBytes } = client;
  const { response } = answer;
  const text = await readReply(answer, replyMaxBytes);
  const json = response.ok ? parseAnswer(text) : parseOrNothing(text);
  if (isJsonObject(json)) {
    if (json["error"] !== undefined && json["error"] !== null) {
      throw withAnswerHeaders(withStatus(adapter.readError(json["error"]), answer), response.headers);
    }
    // The result of an empty reply may be missing.
    if (response.ok && ("result" in json || json["jsonrpc"] === "2.0")) return checkForm(client, json["result"]);
  }
  if (response.ok) throw new A2AError("invalidAgentResponse", "the agent's answer is not a JSON-RPC response");
  throw withAnswerHeaders(errorFromHttpStatus(answer), answer.response.headers);
}

const streamForm: StreamForm<RpcClient, RpcCall> = {
  send: (client, call) => post(client, call, `${eventStreamType}, ${jsonMediaType}`),
  readEvent: readEventResult,
  readWhole: async (client, answer) => (await readResult(client, answer)) ?? null,
};

function readEventResult(client: RpcClient, data: string, isNamed: boolean): JsonValue {
  const { adapter } = client;
  const json = isNamed ? parseOrNothing(data) : parseAnswer(data);
  let found = "";
  if (isJsonObject(json)) {
    if (json["error"] !== undefined && json["error"] !== null) throw adapter.readError(json["error"]);
    const members = Object.keys(json);
    // An event without fields is identified by its name alone.
    if ("result" in json || json["jsonrpc"] === "2.0" || members.length === 0) {
      return checkForm(client, json["result"]) ?? null;
    }
    found = `: it has no result but ${members.join(", ").slice(0, 99)}`;
  }
  if (isNamed) return null;
  throw new A2AError("invalidAgentResponse", `an event of the stream is not a JSON-RPC response${found}`);
}

/** Returns the result. Checks its form first if the version is a guess. */
function checkForm({ adapter, isGuess }: RpcClient, result: JsonValue | undefined): JsonValue | undefined {
  if (!isGuess || result === undefined || adapter.isFromOlder?.(result) !== true) return result;
  const text = `called in version ${adapter.version}, the agent answers in an older form, which is used now`;
  throw new OtherVersionError("invalidAgentResponse", text);
}
