/// <reference lib="esnext.disposable" preserve="true" />
// Entry `trivium/client`: the client for browsers and workers. Nothing here needs Node or gRPC.
export type { JsonObject, JsonValue } from "@bufbuild/protobuf";
export type {
  AuthorizationCodeFlow,
  CredentialOptions,
  CredentialProvider,
  Secret,
  StoredTokens,
  TokenStore,
} from "../auth/credential-options.js";
export type { Transport } from "../binding/transport.js";
export {
  type FromJsonOptions,
  fromJson,
  isMessage,
  isTask,
  type ProtocolKind,
  type ProtocolObjects,
  toJson,
} from "../protocol/content/objects.js";
export { dataOf, type FileContent, filesOf, type PartSource, textOf } from "../protocol/content/read.js";
export type { SchemaIssue, SchemaResult, StandardSchema } from "../protocol/content/schema.js";
export type { CallOptions } from "../protocol/context.js";
export { A2AError, ConnectionError, type ErrorCode, type FieldViolation } from "../protocol/errors.js";
export type { InterceptedCall, InterceptedReply, Interceptor } from "../protocol/intercept.js";
export {
  type AgentCard,
  type Artifact,
  type Message,
  type Part,
  Role,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskState,
  type TaskStatus,
  type TaskStatusUpdateEvent,
} from "../protocol/model.js";
export type { OperationName, Operations, StreamItem } from "../protocol/operations.js";
export { type Content, data, file, fileOf, type PartOptions, text } from "../protocol/parts.js";
export { type StateName, stateName } from "../protocol/states.js";
export { type Answer, type AnswerArtifact, answerOf } from "./answer/answer.js";
export type { AnswerStream } from "./answer/answer-stream.js";
export { type AnswerEvent, eventOf } from "./answer/events.js";
export type { ClientOperations } from "./base-client.js";
export { type CardCache, createCardCache } from "./card/card-cache.js";
export type { AgentAddress } from "./connect.js";
export { type Connection, type InterfaceName, NoInterfaceError, type UnusedInterface } from "./connection.js";
export type { AuthorizationPrompt, ClientInterceptor, ClientLimits, ClientOptions, ConnectOptions } from "./options.js";
export type { RetryNotice, RetryOptions } from "./retrying.js";
export type { Continuation, SendOptions, TaskCallOptions } from "./send-options.js";
export type { InterfaceAddress, TransportFactory, TransportSetting } from "./transports.js";
export { Client } from "./web.js";
