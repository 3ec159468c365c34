export type { JsonObject, JsonValue } from "@bufbuild/protobuf";
export type { AuthenticatedCaller, AuthOptions, PrincipalIds } from "./auth/auth-options.js";
export type {
  AuthorizationCodeFlow,
  CredentialOptions,
  CredentialProvider,
  Secret,
  StoredTokens,
  TokenStore,
} from "./auth/credential-options.js";
export type { Alternative, Requirements } from "./auth/requirements.js";
export type { Transport } from "./binding/transport.js";
export { CardError } from "./card/check.js";
export type { CardOptions, ExtensionOptions, ProviderOptions, SkillOptions } from "./card/options.js";
export { type Answer, type AnswerArtifact, answerOf } from "./client/answer/answer.js";
export type { AnswerStream } from "./client/answer/answer-stream.js";
export { type AnswerEvent, eventOf } from "./client/answer/events.js";
export type { ClientOperations } from "./client/base-client.js";
export { type CardCache, createCardCache } from "./client/card/card-cache.js";
export type { AgentAddress } from "./client/connect.js";
export { type Connection, type InterfaceName, NoInterfaceError, type UnusedInterface } from "./client/connection.js";
export { type ByteStream, type FileFromOptions, fileFrom } from "./client/files/file-from.js";
export { Client } from "./client/node.js";
export type {
  AuthorizationPrompt,
  ClientInterceptor,
  ClientLimits,
  ClientOptions,
  ConnectOptions,
} from "./client/options.js";
export type { RetryNotice, RetryOptions } from "./client/retrying.js";
export type { Continuation, SendOptions, TaskCallOptions } from "./client/send-options.js";
export type { InterfaceAddress, TransportFactory, TransportSetting } from "./client/transports.js";
export {
  type AbortKind,
  type Agent,
  type AgentCallOptions,
  type AgentResult,
  type AuthorizationEnd,
  type TokenBudget,
  type Turn,
  TurnAborted,
} from "./core/agent.js";
export { type ChatMessage, chatMessages } from "./core/chat-messages.js";
export type { ConversationOptions } from "./core/conversation/log.js";
export type { ContextState, ConversationEntry, ConversationPage } from "./core/conversation-view.js";
export type { Clock, PushStore, RateDraw, RateGrant, RateStore, Signals, Store, TaskStore } from "./core/ports.js";
export { merge } from "./core/turn/run-agent.js";
export { gateway } from "./gateway/gateway.js";
export type { GatewayOptions, UpstreamOptions } from "./gateway/options.js";
export type { Gateway } from "./gateway/serve-gateway.js";
export type { AuthorizationRequest } from "./protocol/authorization/request.js";
export type { Binding } from "./protocol/bindings.js";
export {
  type FromJsonOptions,
  fromJson,
  isMessage,
  isTask,
  type ProtocolKind,
  type ProtocolObjects,
  toJson,
} from "./protocol/content/objects.js";
export { dataOf, type FileContent, filesOf, type PartSource, textOf } from "./protocol/content/read.js";
export type { SchemaIssue, SchemaResult, StandardSchema } from "./protocol/content/schema.js";
export { type StreamArtifactOptions, streamArtifact } from "./protocol/content/stream-artifact.js";
export type { CallOptions, CallOrigin, Principal, ServerContext } from "./protocol/context.js";
export {
  A2AError,
  ConnectionError,
  type ErrorCode,
  type ErrorOptions,
  errorTable,
  type FieldViolation,
} from "./protocol/errors.js";
export {
  type AgentEvent,
  type ArtifactOptions,
  artifact,
  authRequired,
  canceled,
  completed,
  failed,
  inputRequired,
  type ParkEvent,
  type ParkOptions,
  park,
  type ReplyOptions,
  rejected,
  reply,
  type StatusOptions,
  working,
} from "./protocol/events.js";
export type { InterceptedCall, InterceptedReply, Interceptor } from "./protocol/intercept.js";
export type { Logger } from "./protocol/logger.js";
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
} from "./protocol/model.js";
export type { OperationName, Operations, StreamItem } from "./protocol/operations.js";
export { type Content, data, file, fileOf, type PartOptions, text } from "./protocol/parts.js";
export { type StateName, stateName } from "./protocol/states.js";
export type { TurnClient } from "./protocol/turn-client.js";
export type {
  BudgetLimits,
  CallerLimits,
  CallLimits,
  Rate,
  RateOptions,
  Rates,
  RateWindow,
  TurnLimits,
} from "./rates/options.js";
export {
  type ConversationAccess,
  createAgent,
  type HostConversations,
  type HostedAgent,
  type HostTasks,
  type MountedAgent,
  type RunningAgent,
  type TaskAccess,
  type TaskOwner,
} from "./server/agent.js";
export type { Authenticate, Caller } from "./server/authentication.js";
export type { InProcessAgent } from "./server/composition.js";
export { defaultLimits, type Limits } from "./server/limits.js";
export type { LocalClientOptions } from "./server/local-clients.js";
export type { AgentsServer, MultiAgentServer, ServedAgent, ServedAgents } from "./server/multi-agent.js";
export type {
  AgentOptions,
  AuthDeclaration,
  BaseServerOptions,
  HostOptions,
  ListenOptions,
  PushOptions,
  ServeAgentsOptions,
  ServedAgentOptions,
  ServeOptions,
  ServerInterceptor,
  VersionSettings,
} from "./server/options.js";
export type { ListeningPort } from "./server/port.js";
export { type AgentServer, type Server, serve } from "./server/serve.js";
export { memoryPushStore } from "./store/memory/push-store.js";
export { memoryTaskStore } from "./store/memory/task-store.js";
export type { MetricsOptions, TelemetryOptions } from "./telemetry/options.js";
export type { FileBytes } from "./version/options.js";
export type { VersionName } from "./version/versions.js";
