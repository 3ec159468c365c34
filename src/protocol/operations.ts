import type { Message as AnyMessage, DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import { A2AService, type StreamResponse } from "./model.js";

type Methods = (typeof A2AService)["method"];

/** The name of an operation in code: `sendMessage`, `getTask`, … */
export type OperationName = keyof Methods;

/** The request message of an operation. */
export type RequestOf<K extends OperationName> = MessageShape<Methods[K]["input"]>;

/** The reply message of an operation, or the type of a stream's elements. */
export type ReplyOf<K extends OperationName> = MessageShape<Methods[K]["output"]>;

/** One element of a stream. */
export interface StreamItem {
  /** The event. */
  readonly response: StreamResponse;
  /** The opaque event id to resume after. A message has none. */
  readonly id?: string | undefined;
  /**
   * Set by the client after a break, if the agent does not replay events. `"difference"`: computed from what was added
   * to the task; states in between may be missing. `"resync"`: the response is the whole task and replaces everything
   * before it.
   */
  readonly recovered?: "difference" | "resync" | undefined;
}

/**
 * The eleven operations of A2A, typed by the service descriptor. A server's request handler is
 * `Operations<ServerContext>`, a client transport is `Operations<CallOptions>` (spec 3.1).
 */
export type Operations<C> = {
  readonly [K in OperationName]: Methods[K]["methodKind"] extends "server_streaming"
    ? (request: RequestOf<K>, context: C) => AsyncIterable<StreamItem>
    : (request: RequestOf<K>, context: C) => Promise<ReplyOf<K>>;
};

/** The capability that an agent must declare before an operation may be used (spec 3.3.4). */
export type Capability = "streaming" | "pushNotifications" | "extendedAgentCard";

/** One row of the operation table. */
export interface Operation {
  readonly name: OperationName;
  /** The name on the wire: the RPC's name and 1.0's JSON-RPC method. */
  readonly method: string;
  readonly descriptor: DescMethod;
  readonly input: DescMessage;
  readonly output: DescMessage;
  readonly streams: boolean;
  readonly needs: Capability | undefined;
  /** Whether calling the operation twice is harmless (spec 3.3.1). */
  readonly idempotent: boolean;
}

const capabilities: Partial<Record<OperationName, Capability>> = {
  sendStreamingMessage: "streaming",
  subscribeToTask: "streaming",
  createTaskPushNotificationConfig: "pushNotifications",
  getTaskPushNotificationConfig: "pushNotifications",
  listTaskPushNotificationConfigs: "pushNotifications",
  deleteTaskPushNotificationConfig: "pushNotifications",
  getExtendedAgentCard: "extendedAgentCard",
};

const notIdempotent: ReadonlySet<OperationName> = new Set([
  "sendMessage",
  "sendStreamingMessage",
  "createTaskPushNotificationConfig",
]);

/** The operation table, in the order of the service. Bindings iterate over it. */
export const operations: readonly Operation[] = A2AService.methods.map((descriptor) => {
  const name = descriptor.localName as OperationName;
  return {
    name,
    method: descriptor.name,
    descriptor,
    input: descriptor.input,
    output: descriptor.output,
    streams: descriptor.methodKind === "server_streaming",
    needs: capabilities[name],
    idempotent: !notIdempotent.has(name),
  };
});

const byName = new Map(operations.map((operation) => [operation.name, operation]));

/** Returns an operation's row in the table. */
export function findOperation(name: OperationName): Operation {
  const operation = byName.get(name);
  if (operation === undefined) throw new TypeError(`no operation ${name}`);
  return operation;
}

type AnyOperation<C> = (request: AnyMessage, context: C) => Promise<AnyMessage> | AsyncIterable<StreamItem>;

/** Calls an operation by its row. The only place where the table's dynamic type meets the static one. */
export function invoke<C>(
  on: Operations<C>,
  operation: Operation,
  request: AnyMessage,
  context: C,
): Promise<AnyMessage> | AsyncIterable<StreamItem> {
  return (on[operation.name] as AnyOperation<C>)(request, context);
}

/** Calls a unary operation. */
export function invokeUnary<C>(
  on: Operations<C>,
  operation: Operation,
  request: AnyMessage,
  context: C,
): Promise<AnyMessage> {
  return invoke(on, operation, request, context) as Promise<AnyMessage>;
}

/** Calls a streaming operation. */
export function invokeStream<C>(
  on: Operations<C>,
  operation: Operation,
  request: AnyMessage,
  context: C,
): AsyncIterable<StreamItem> {
  return invoke(on, operation, request, context) as AsyncIterable<StreamItem>;
}
