// `AgentExecutor` in the two generations of `@a2a-js/sdk`, without a dependency on the package. Members are declared as
// methods, so that classes with the package's own, wider types are assignable.

/** An `AgentExecutor` of `@a2a-js/sdk` 1.x. */
export interface AgentExecutor {
  /** Runs the agent for one message. */
  execute(requestContext: RequestContext, eventBus: ExecutionEventBus<ExecutionEvent>): Promise<void>;
  /** Stops the work on a task. */
  cancelTask(taskId: string, eventBus: ExecutionEventBus<ExecutionEvent>): Promise<void>;
}

/** An `AgentExecutor` of `@a2a-js/sdk` 0.3.x. */
export interface AgentExecutorV03 {
  /** Runs the agent for one message. */
  execute(requestContext: RequestContextV03, eventBus: ExecutionEventBus<ExecutionEventV03>): Promise<void>;
  /** Stops the work on a task. */
  cancelTask(taskId: string, eventBus: ExecutionEventBus<ExecutionEventV03>): Promise<void>;
}

/** The bus on which an executor publishes its events. */
export interface ExecutionEventBus<E> {
  /** Publishes an event. Events after the end of the execution are dropped. */
  publish(event: E): void;
  /** Ends the execution. */
  finished(): void;
}

/** An event of 1.x, created by its `AgentEvent`. */
export interface ExecutionEvent {
  /** `"message"`, `"task"`, `"statusUpdate"` or `"artifactUpdate"`. */
  readonly kind: string;
  /** The message, the task or the update. */
  readonly data: object;
}

/** An event of 0.3: a message, a task or an update, named by its `kind`. */
export interface ExecutionEventV03 {
  /** `"message"`, `"task"`, `"status-update"` or `"artifact-update"`. */
  readonly kind: string;
}

/** The request that an executor of 1.x gets. */
export interface RequestContext {
  /** The message to answer. `role` is a number of the schema: 1 is the user. */
  readonly userMessage: { readonly messageId: string; readonly role: number; readonly parts: readonly object[] };
  /** The id of the task, also before it exists. */
  readonly taskId: string;
  /** The id of the context. */
  readonly contextId: string;
}

/** The request that an executor of 0.3 gets. */
export interface RequestContextV03 {
  /** The message to answer. */
  readonly userMessage: {
    readonly messageId: string;
    readonly role: "agent" | "user";
    readonly parts: readonly object[];
  };
  /** The id of the task, also before it exists. */
  readonly taskId: string;
  /** The id of the context. */
  readonly contextId: string;
}
