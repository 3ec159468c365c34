export { createAgent, type MountedAgent } from "./server/agent.js";
export { type Server, serve } from "./server/serve.js";
export type { AgentOptions, PushOptions, ServeOptions } from "./server/options.js";
export type { Authenticate, Caller } from "./server/door.js";
export { defaultLimits, type Limits } from "./server/limits.js";

export {
  type ArtifactOptions,
  type AgentEvent,
  artifact,
  authRequired,
  canceled,
  completed,
  failed,
  inputRequired,
  rejected,
  reply,
  type ReplyOptions,
  type StatusOptions,
  working,
} from "./protocol/events.js";
export { type Content, data, file, type PartOptions, text } from "./protocol/parts.js";
export { streamText, type StreamTextOptions } from "./protocol/stream-text.js";
export { merge } from "./core/run-agent.js";
export { type Agent, type AgentResult, type AbortKind, type Turn, TurnAborted } from "./core/agent.js";

export { A2AError, type ErrorCode, type ErrorOptions, errorTable, type FieldViolation } from "./protocol/errors.js";
export type { Binding, CallOptions, Principal } from "./protocol/context.js";
export type { Logger } from "./protocol/logger.js";
export type { OperationName, Operations, StreamItem } from "./protocol/operations.js";
export {
  type AgentCard,
  type Artifact,
  type Message,
  type Part,
  Role,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  type TaskStatus,
  TaskState,
  type TaskStatusUpdateEvent,
} from "./protocol/model.js";

export type { CardOptions, ExtensionOptions, ProviderOptions, SkillOptions } from "./card/options.js";
export { CardError } from "./card/check.js";
export { memoryTaskStore, } from "./store/memory/task-store.js";
export { memoryPushStore } from "./store/memory/push-store.js";
export type { Clock, PushStore, Signals, TaskStore } from "./core/ports.js";
