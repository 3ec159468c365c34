import type { Message as AnyMessage, DescService, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { A2AError } from "../protocol/errors.js";
import type { HttpRoute } from "../protocol/http-rules.js";
import type { AgentCard } from "../protocol/model.js";
import type { Operation, StreamItem } from "../protocol/operations.js";

export type { HttpRoute } from "../protocol/http-rules.js";

// The contract of a version: a model codec (its objects ⇄ the 1.0 messages), a face for each binding that the version
// has, and a stream adapter. A binding takes faces and loops over them; it never names a version.

/** JSON forms of one operation. Requests are read strictly, replies leniently. */
export interface OperationCodec {
  /** Throws `invalidParams` with every field at fault. `undefined` reads as an empty request. */
  readRequest(json: JsonValue | undefined): AnyMessage;
  writeRequest(request: AnyMessage): JsonValue;
  /** Throws `invalidAgentResponse` for what cannot be read at all. */
  readReply(json: JsonValue | undefined): AnyMessage;
  writeReply(reply: AnyMessage, request: AnyMessage): JsonValue;
}

/** One event as it goes on the wire. */
export interface WireEvent<T> {
  readonly payload: T;
  readonly id?: string | undefined;
  /** Name for the `event:` line of SSE, in versions that need one. */
  readonly name?: string | undefined;
}

/** Server end of one stream: turns events into wire events. Made anew for each stream, since some versions keep state. */
export interface StreamWriter<T> {
  write(item: StreamItem): readonly WireEvent<T>[];
}

/** Client end of one stream: turns wire payloads into events. */
export interface StreamReader<T> {
  read(payload: T, id: string | undefined): readonly StreamItem[];
}

interface JsonFace {
  readonly version: string;
  codec(operation: Operation): OperationCodec;
  /** Payloads are the JSON text of one event, without the envelope of the binding. The text of an event is made once. */
  writeStream(operation: Operation, request: AnyMessage): StreamWriter<string>;
  readStream(operation: Operation): StreamReader<JsonValue>;
}

/** How a version looks over JSON-RPC. */
export interface JsonRpcFace extends JsonFace {
  /** Wire method name → operation. */
  readonly methods: ReadonlyMap<string, Operation>;
  methodOf(operation: Operation): string;
  /** The `error` member. */
  writeError(error: A2AError): JsonObject;
  /** Never throws. */
  readError(error: JsonValue | undefined): A2AError;
}

/** How a version looks over HTTP+JSON. */
export interface HttpJsonFace extends JsonFace {
  /** Every route served, in order of precedence; the first of an operation is the one that a client uses. */
  readonly routes: readonly HttpRoute[];
  /** Query parameters and path fields → the JSON that `readRequest` takes. Throws `invalidParams`. */
  readQuery(operation: Operation, query: URLSearchParams): JsonObject;
  writeQuery(operation: Operation, request: JsonObject): URLSearchParams;
  /** The whole error body. */
  writeError(error: A2AError): JsonObject;
  /** Reads the body of a failed call; `json` is `undefined` when it was no JSON. Never throws. */
  readError(status: number, json: JsonValue | undefined): A2AError;
}

/** How a version looks over gRPC, gRPC-Web and Connect. */
export interface GrpcFace {
  readonly version: string;
  readonly service: DescService;
  /** RPC name → operation. */
  readonly methods: ReadonlyMap<string, Operation>;
  /** Throws `invalidParams`; a wire message of the version's own service in, a request of the model out. */
  readRequest(operation: Operation, wire: AnyMessage): AnyMessage;
  writeRequest(operation: Operation, request: AnyMessage): AnyMessage;
  readReply(operation: Operation, wire: AnyMessage): AnyMessage;
  writeReply(operation: Operation, reply: AnyMessage, request: AnyMessage): AnyMessage;
  /** Payloads are wire messages. The message of an event is made once. */
  writeStream(operation: Operation, request: AnyMessage): StreamWriter<AnyMessage>;
  readStream(operation: Operation): StreamReader<AnyMessage>;
}

/** A version of the protocol, as the rest of the framework sees it. */
export interface Version {
  readonly name: string;
  readonly jsonRpc?: JsonRpcFace | undefined;
  readonly httpJson?: HttpJsonFace | undefined;
  readonly grpc?: GrpcFace | undefined;
  /** The pure agent card of this version. */
  writeCard(card: AgentCard): JsonObject;
  /** Reads a peer's card leniently. Throws `invalidAgentResponse` for what is no card at all. */
  readCard(json: JsonValue | undefined): AgentCard;
}
