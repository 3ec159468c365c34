import type { Message as AnyMessage, DescService, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { CallOptions, ServerContext } from "../protocol/context.js";
import type { A2AError, ErrorCode } from "../protocol/errors.js";
import type { HttpRoute } from "../protocol/http-rules.js";
import type { AgentCard } from "../protocol/model.js";
import type { Operation, Operations, StreamItem } from "../protocol/operations.js";
import type { TaskNames } from "../protocol/task-names.js";

export type { HttpRoute } from "../protocol/http-rules.js";

// The contract of a version: a model codec (its objects ⇄ the 1.0 messages), an adapter for each binding that the version
// has, and a stream adapter. A binding takes adapters and loops over them; it never names a version.

/** JSON forms of one operation. Requests are read strictly, replies leniently. */
export interface OperationCodec {
  /** Throws `invalidParams` with every field at fault. `undefined` reads as an empty request. */
  readRequest(json: JsonValue | undefined): AnyMessage;
  /** `undefined` for a request that says nothing, in versions where it is left out then. */
  writeRequest(request: AnyMessage): JsonValue | undefined;
  /** Throws `invalidAgentResponse` for what cannot be read at all. */
  readReply(json: JsonValue | undefined, request?: AnyMessage): AnyMessage;
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
  /** What is still to be said when the handler has ended the stream without an error. */
  end?(): readonly WireEvent<T>[];
}

/** What SSE says of an event beside its data. */
export interface EventHead {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
}

/** Client end of one stream: turns wire payloads into events. */
export interface StreamReader<T> {
  /** Throws the error in the payload. */
  read(payload: T, head?: EventHead): readonly StreamItem[];
  /** True when nothing more is to come, though the peer may leave its end open. */
  readonly isOver?: boolean;
}

/** What all adapters of a version say. */
interface Adapter {
  readonly version: string;
  /** Callers of this version need not declare it (spec 3.6.2). */
  readonly isImplied: boolean;
  /** What a client declares as `A2A-Version`; `undefined` where the version knows no such thing. */
  readonly declares: string | undefined;
  /** Name of the header, or metadata, that lists extensions, as it is sent both ways. Both known names are read. */
  readonly extensionsName: string;
  /** The handler as callers of this version expect it, where that is more than a form. `names`: what callers call their tasks. */
  serve?(handler: Operations<ServerContext>, names: TaskNames): Operations<ServerContext>;
  /** A transport of this version, with what the version lacks made up for. */
  call?(transport: Operations<CallOptions>): Operations<CallOptions>;
}

interface JsonAdapter extends Adapter {
  codec(operation: Operation): OperationCodec;
  /** Payloads are the JSON text of one event, without the envelope of the binding. The text of an event is made once. */
  writeStream(operation: Operation, request: AnyMessage): StreamWriter<string>;
  readStream(operation: Operation, request?: AnyMessage): StreamReader<JsonValue>;
  /** Name of the SSE event for a failure in the middle of a stream. */
  readonly failureName?: string | undefined;
}

/** How a version looks over JSON-RPC. */
export interface JsonRpcAdapter extends JsonAdapter {
  /** Wire method name → operation. */
  readonly methods: ReadonlyMap<string, Operation>;
  /** The method of an operation; `undefined` when this version has none. */
  methodOf(operation: Operation): string | undefined;
  /**
   * Reads requests without `jsonrpc`, and those without `id` as notifications: done, and not answered. A stream is answered
   * with the id `null`.
   */
  readonly takesNotifications: boolean;
  /** The task that params name, in a version whose callers name tasks, so that a shared method can be told by it. */
  taskNamedBy?(params: JsonValue | undefined): string | undefined;
  /** The `error` member. */
  writeError(error: A2AError, operation: Operation | undefined): JsonObject;
  /** Never throws. */
  readError(error: JsonValue | undefined): A2AError;
  /**
   * Whether a result, or an event, is in the form of an older version that shares methods with this one: asked where it is
   * open which of them an agent speaks.
   */
  isOfOlder?(result: JsonValue): boolean;
  /** Where the extended card is read by GET, below the base of the agent, instead of by a method. */
  readonly extendedCardPath?: string | undefined;
  /** The same at a peer, whose JSON-RPC is at this URL. */
  extendedCardUrl?(url: string): string;
}

/** How a version looks over HTTP+JSON. */
export interface HttpJsonAdapter extends JsonAdapter {
  /** Every route served, in order of precedence; the first of an operation is the one that a client uses. */
  readonly routes: readonly HttpRoute[];
  /** Media type of bodies where the peer names none. */
  readonly mediaType: string;
  /** Query parameters and path fields → the JSON that `readRequest` takes. Throws `invalidParams`. */
  readQuery(operation: Operation, query: URLSearchParams): JsonObject;
  writeQuery(operation: Operation, request: JsonObject): URLSearchParams;
  /** The whole error body. */
  writeError(error: A2AError): JsonObject;
  /** Reads the body of a failed call; `json` is `undefined` when it was no JSON. Never throws. */
  readError(status: number, json: JsonValue | undefined): A2AError;
}

/** How a version looks over gRPC, gRPC-Web and Connect. */
export interface GrpcAdapter extends Adapter {
  readonly service: DescService;
  /** RPC name → operation. */
  readonly methods: ReadonlyMap<string, Operation>;
  /** Throws `invalidParams`; a wire message of the version's own service in, a request of the model out. */
  readRequest(operation: Operation, wire: AnyMessage): AnyMessage;
  writeRequest(operation: Operation, request: AnyMessage): AnyMessage;
  readReply(operation: Operation, wire: AnyMessage, request?: AnyMessage): AnyMessage;
  writeReply(operation: Operation, reply: AnyMessage, request: AnyMessage): AnyMessage;
  /** Payloads are wire messages. The message of an event is made once. */
  writeStream(operation: Operation, request: AnyMessage): StreamWriter<AnyMessage>;
  readStream(operation: Operation, request?: AnyMessage): StreamReader<AnyMessage>;
  /** The number of an error's status, where peers of the version know it by another than that of the table. */
  statusOf?(error: A2AError): number | undefined;
  /** What a status means whose details name no reason, where that is something else than usual. */
  readStatus?(status: number, operation: Operation): ErrorCode | undefined;
  /** What the version puts before the message of a status. */
  prefixOf?(error: A2AError): string;
  /** Reads that prefix of a status whose details name no reason; `undefined` when there is none. */
  readPrefix?(message: string): Pick<A2AError, "code" | "message"> | undefined;
}

/** What webhooks that were registered in a version are sent. */
export interface PushAdapter {
  readonly mediaType: string;
  /** Names of the header that carries the token of a configuration. */
  readonly tokenHeaders: readonly string[];
  /** `"event"`: what happened. `"task"`: the whole task, as it is then. */
  readonly tells: "event" | "task";
  /** Text of the body. */
  write(item: StreamItem): string;
}

/** A version of the protocol, as the rest of the framework sees it. */
export interface Version {
  readonly name: string;
  readonly jsonRpc?: JsonRpcAdapter | undefined;
  readonly httpJson?: HttpJsonAdapter | undefined;
  /** Further forms of HTTP+JSON that peers of this version call, on paths of their own. */
  readonly httpJsonOthers?: readonly HttpJsonAdapter[] | undefined;
  readonly grpc?: GrpcAdapter | undefined;
  readonly push: PushAdapter;
  /** The pure agent card of this version; `undefined` when the card lists no interface that it can say. */
  writeCard(card: AgentCard): JsonObject | undefined;
  /** Reads a peer's card leniently. Throws `invalidAgentResponse` for what is no card at all. */
  readCard(json: JsonValue | undefined): AgentCard;
}
