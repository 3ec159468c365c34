import { type Message, Role, type Task, TaskState } from "@a2a-js/sdk";
import { UnsupportedOperationError } from "@a2a-js/sdk/errors";
import { AgentEvent, type AgentExecutor, type ExecutionEventBus, type RequestContext } from "@a2a-js/sdk/server";

// Executors for `@a2a-js/sdk` 1.x, in the ways that agents are written for it.

const textOf = ({ parts }: Message): string =>
  parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");

const part = (value: string) => ({
  content: { $case: "text" as const, value },
  metadata: undefined,
  filename: "",
  mediaType: "text/plain",
});

const message = (value: string, ids: { taskId: string; contextId: string }): Message => ({
  messageId: crypto.randomUUID(),
  role: Role.ROLE_AGENT,
  parts: [part(value)],
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
  ...ids,
});

class Publisher {
  private readonly ids: { taskId: string; contextId: string };
  private readonly context: RequestContext;
  private readonly bus: ExecutionEventBus;

  constructor(context: RequestContext, bus: ExecutionEventBus) {
    this.context = context;
    this.bus = bus;
    this.ids = { taskId: context.taskId, contextId: context.contextId };
  }

  begin(): void {
    const created: Task = {
      id: this.context.taskId,
      contextId: this.context.contextId,
      status: { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() },
      artifacts: [],
      history: [this.context.userMessage],
      metadata: this.context.userMessage.metadata,
    };
    this.bus.publish(AgentEvent.task(this.context.task ?? created));
  }

  status(state: TaskState, text?: string): void {
    const statusMessage = text === undefined ? undefined : message(text, this.ids);
    const status = { state, message: statusMessage, timestamp: new Date().toISOString() };
    this.bus.publish(AgentEvent.statusUpdate({ ...this.ids, status, metadata: undefined }));
  }

  chunk(artifactId: string, text: string, append: boolean, lastChunk: boolean): void {
    const artifact = {
      artifactId,
      name: artifactId,
      description: "",
      parts: [part(text)],
      metadata: undefined,
      extensions: [],
    };
    this.bus.publish(AgentEvent.artifactUpdate({ ...this.ids, artifact, append, lastChunk, metadata: undefined }));
  }
}

/** Answers with a message. */
export class Hello implements AgentExecutor {
  async execute({ userMessage, contextId }: RequestContext, bus: ExecutionEventBus): Promise<void> {
    bus.publish(AgentEvent.message(message(`hello ${textOf(userMessage)}`, { taskId: "", contextId })));
    bus.finished();
  }

  async cancelTask(): Promise<void> {}
}

/** Streams files, each in chunks. */
export class Coder implements AgentExecutor {
  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const out = new Publisher(context, bus);
    out.begin();
    out.status(TaskState.TASK_STATE_WORKING, "writing code");
    for (const file of ["a.ts", "b.ts"]) {
      for (const [at, line] of ["one\n", "two\n", "three\n"].entries()) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        out.chunk(file, line, at > 0, at === 2);
      }
    }
    out.status(TaskState.TASK_STATE_COMPLETED, "two files");
  }

  cancelTask = async (): Promise<void> => {};
}

/** Asks, searches, and looks between its steps whether it is canceled. */
export class Movies implements AgentExecutor {
  private readonly canceled = new Set<string>();

  public cancelTask = async (taskId: string, _bus: ExecutionEventBus): Promise<void> => {
    this.canceled.add(taskId);
  };

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const out = new Publisher(context, bus);
    const prompt = textOf(context.userMessage);
    if (prompt === "refuse") throw new UnsupportedOperationError("no such film");
    out.begin();
    if (context.task === undefined && prompt !== "search forever") {
      return out.status(TaskState.TASK_STATE_INPUT_REQUIRED, "which year?");
    }
    out.status(TaskState.TASK_STATE_WORKING, "searching");
    do {
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (this.canceled.has(context.taskId)) return out.status(TaskState.TASK_STATE_CANCELED, "stopped searching");
    } while (prompt === "search forever");
    const words = (context.task?.history ?? []).map(textOf).join(", ");
    out.status(TaskState.TASK_STATE_COMPLETED, `found by ${context.context.user?.userName}: ${words}`);
    bus.finished();
  }
}
