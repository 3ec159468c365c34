import type { Turn } from "../core/agent.js";
import { A2AError } from "../protocol/errors.js";
import type { Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "../protocol/model.js";

/** An event or object that an executor has published, in the model. */
export type PublishedEvent =
  | { readonly kind: "message"; readonly message: Message }
  | { readonly kind: "task"; readonly task: Task }
  | { readonly kind: "artifact"; readonly event: TaskArtifactUpdateEvent }
  /** `final`: the execution ends with it, whatever its state. */
  | { readonly kind: "status"; readonly event: TaskStatusUpdateEvent; readonly final: boolean };

/** The request that an execution answers. */
interface ExecutionRequest {
  readonly turn: Turn;
  /** With the ids of its task and context. */
  readonly message: Message;
  /** The task that the message continues. */
  readonly task: Task | undefined;
  readonly references: readonly Task[];
}

/** The objects of one generation of the SDK. */
export interface SdkObjects {
  /** Whether an execution ends when `execute` returns; otherwise with a final event or `finished()`. */
  readonly endsOnReturn: boolean;
  /** The advice for an executor that fails before its first event, as one of the other generation does. */
  readonly advice: string;
  /** The request context of an executor. */
  requestContext(request: ExecutionRequest): object;
  /** Reads an event. Throws `invalidAgentResponse` for anything else. */
  read(event: unknown): PublishedEvent;
}

/** A record with members of any kind. */
export type Json = Readonly<Record<string, unknown>>;

/** The error for an event that the SDK of the executor does not publish. */
export function invalidEvent(message: string, cause?: unknown): A2AError {
  return new A2AError("invalidAgentResponse", message, { cause });
}
