import type { Message as AnyMessage, DescService, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { CallOptions, ServerContext } from "../protocol/context.js";
import type { A2AError, ErrorCode, FieldViolation } from "../protocol/errors.js";
import type { HttpRoute } from "../protocol/http-routes.js";
import type { AgentCard } from "../protocol/model.js";
import type { Operation, Operations, StreamItem } from "../protocol/operations.js";
import type { TaskNames } from "../protocol/task-names.js";

export type { HttpRoute } from "../protocol/http-routes.js";

// The contract of a version: a model codec (its objects ⇄ the 1.0 messages), an adapter for each of its bindings, and a
// stream adapter. A binding takes adapters and loops over them; it never names a version. `versions.ts` is the table of
// versions, `detect.ts` alone decides which adapter takes a call: by the declared version, else by method, route or
// service. Where callers of a version expect another behavior and not just another format, its adapter wraps the
// operations: `serve` wraps the handler, `call` the transport.

/** JSON forms of one operation. Requests are read strictly, replies leniently. */
export interface OperationCodec {
  /** Throws `invalidParams` listing every invalid field. Reads `undefined` as an empty request. */
  readRequest(json: JsonValue | undefined): AnyMessage;
  /** Returns `undefined` for an empty request in versions that omit it. */
  writeRequest(request: AnyMessage): JsonValue | undefined;
  /** Throws `invalidAgentResponse` if the reply is unreadable. */
  readReply(json: JsonValue | undefined, request?: AnyMessage): AnyMessage;
  writeReply(reply: AnyMessage, request: AnyMessage): JsonValue;
  /**
   * The JSON text of a large reply in pieces, made on demand, so that other work can run between them. A version
   * without it makes the text at once.
   */
  replyTexts?(reply: AnyMessage, request: AnyMessage): Iterable<string>;
}

/** One event in its wire form. */
export interface WireEvent<T> {
  readonly payload: T;
  readonly id?: string | undefined;
  /** Name for the `event:` line of SSE, in versions that need one. */
  readonly name?: string | undefined;
}

/** Server end of one stream: turns events into wire events. Created per stream, since some versions keep state. */
export interface StreamWriter<T> {
  write(item: StreamItem): readonly WireEvent<T>[];
  /** Like `write`, with payloads in pieces, made on demand, so that other work can run between them. */
  writeLarge?(item: StreamItem): readonly WireEvent<Iterable<T>>[];
  /** The events to send after the handler ends the stream without an error. */
  end?(): readonly WireEvent<T>[];
}

/** The SSE fields of an event other than its data. */
export interface EventHead {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
}

/** Client end of one stream: turns wire payloads into events. */
export interface StreamReader<T> {
  /** Throws the error in the payload. */
  read(payload: T, head?: EventHead): readonly StreamItem[];
  /** True once no more events will come, even if the peer leaves the connection open. */
  readonly isOver?: boolean;
}

/** The members that all adapters of a version share. */
interface Adapter {
  readonly version: string;
  /** Whether callers may omit the declaration of this version (spec 3.6.2). */
  readonly isImplied: boolean;
  /** The `A2A-Version` that a client sends, or `undefined` if the version has no such header. */
  readonly declares: string | undefined;
  /** Name of the header or metadata key that lists extensions, sent in both directions. Both known names are read. */
  readonly extensionsName: string;
  /**
   * Wraps the handler if callers of this version expect different behavior, not just a different format. `names` maps
   * callers' task names to tasks.
   */
  serve?(handler: Operations<ServerContext>, names: TaskNames): Operations<ServerContext>;
  /** Wraps a transport to emulate what this version lacks. */
  call?(transport: Operations<CallOptions>): Operations<CallOptions>;
}

interface JsonAdapter extends Adapter {
  codec(operation: Operation): OperationCodec;
  /** Payloads are the JSON text of one event, without the binding's envelope. Each event is encoded once. */
  writeStream(operation: Operation, request: AnyMessage): StreamWriter<string>;
  readStream(operation: Operation, request?: AnyMessage): StreamReader<JsonValue>;
  /** Name of the SSE event that reports a failure mid-stream. */
  readonly failureName?: string | undefined;
}

/** The adapter of a version for JSON-RPC. */
export interface JsonRpcAdapter extends JsonAdapter {
  /** Wire method name → operation. */
  readonly methods: ReadonlyMap<string, Operation>;
  /** The method of an operation, or `undefined` if this version has none. */
  findMethod(operation: Operation): string | undefined;
  /**
   * Accepts requests without `jsonrpc` or `id`. The answer to a request without `id` has the id `null`, in streams and
   * errors too.
   */
  readonly takesPartialEnvelopes: boolean;
  /**
   * Returns the task name in `params`, in versions whose callers name tasks. Identifies the version of a call whose
   * method several versions share.
   */
  taskNamedBy?(params: JsonValue | undefined): string | undefined;
  /** The `error` member. */
  writeError(error: A2AError, operation: Operation | undefined): JsonObject;
  /** Never throws. */
  readError(error: JsonValue | undefined): A2AError;
  /**
   * Whether a result or event has the form of an older version that shares methods with this one. Used while the
   * agent's version is undecided.
   */
  isFromOlder?(result: JsonValue): boolean;
  /** GET path of the extended card, relative to the agent's base, in versions that have no method for it. */
  readonly extendedCardPath?: string | undefined;
  /** URL of the extended card at a peer with this JSON-RPC URL. */
  extendedCardUrl?(url: string): string;
}

/** The adapter of a version for HTTP+JSON. */
export interface HttpJsonAdapter extends JsonAdapter {
  /** Every route served, in order of precedence. Clients use the first route of an operation. */
  readonly routes: readonly HttpRoute[];
  /** Media type of bodies when the peer names none. */
  readonly mediaType: string;
  /** Query parameters and path fields → the JSON that `readRequest` takes. Throws `invalidParams`. */
  readQuery(operation: Operation, query: URLSearchParams): JsonObject;
  writeQuery(operation: Operation, request: JsonObject): URLSearchParams;
  /** The whole error body. */
  writeError(error: A2AError): JsonObject;
  /** Reads the body of a failed call; `json` is `undefined` if the body is not JSON. Never throws. */
  readError(status: number, json: JsonValue | undefined): A2AError;
}

/** The adapter of a version for gRPC, gRPC-Web and Connect. */
export interface GrpcAdapter extends Adapter {
  readonly service: DescService;
  /** RPC name → operation. */
  readonly methods: ReadonlyMap<string, Operation>;
  /** Turns a wire message of the version's service into a request of the model. Throws `invalidParams`. */
  readRequest(operation: Operation, wire: AnyMessage): AnyMessage;
  /**
   * Violations for members of a JSON request, as Connect takes it, that have names of another version: a wire message no
   * longer shows them.
   */
  foreignNamesIn(operation: Operation, json: JsonValue): readonly FieldViolation[];
  writeRequest(operation: Operation, request: AnyMessage): AnyMessage;
  readReply(operation: Operation, wire: AnyMessage, request?: AnyMessage): AnyMessage;
  writeReply(operation: Operation, reply: AnyMessage, request: AnyMessage): AnyMessage;
  /** Payloads are wire messages. Each event is encoded once. */
  writeStream(operation: Operation, request: AnyMessage): StreamWriter<AnyMessage>;
  readStream(operation: Operation, request?: AnyMessage): StreamReader<AnyMessage>;
  /** The gRPC status number of an error, where peers of this version expect another than the error table's. */
  findStatus?(error: A2AError): number | undefined;
  /** The error code for a status whose details name no reason, where it differs from the default. */
  readStatus?(status: number, operation: Operation): ErrorCode | undefined;
  /** The prefix that the version puts before a status message. */
  findPrefix?(error: A2AError): string;
  /** Parses that prefix when the details name no reason. Returns `undefined` if there is no prefix. */
  readPrefix?(message: string): Pick<A2AError, "code" | "message"> | undefined;
}

/** The payload of webhooks that were registered in a version. */
export interface PushAdapter {
  readonly mediaType: string;
  /** Names of the header that carries the token of a configuration. */
  readonly tokenHeaders: readonly string[];
  /** `"event"` sends the event itself. `"task"` sends the whole task in its current state. */
  readonly delivers: "event" | "task";
  /** Text of the body. */
  write(item: StreamItem): string;
}

/** A version of the protocol, as the rest of the framework sees it. */
export interface Version {
  readonly name: string;
  readonly jsonRpc?: JsonRpcAdapter | undefined;
  readonly httpJson?: HttpJsonAdapter | undefined;
  /** Further forms of HTTP+JSON that peers of this version use, each with its own paths. */
  readonly httpJsonOthers?: readonly HttpJsonAdapter[] | undefined;
  readonly grpc?: GrpcAdapter | undefined;
  readonly push: PushAdapter;
  /**
   * The agent card in this version's own form, or `undefined` if the card lists no interface that this version
   * supports.
   */
  writeCard(card: AgentCard): JsonObject | undefined;
  /** Reads a peer's card leniently. Throws `invalidAgentResponse` if it is not a usable card. */
  readCard(json: JsonValue | undefined): AgentCard;
}
