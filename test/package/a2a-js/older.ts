import type { Message, Task, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent } from "sdk-0.3";
import { A2AError, type AgentExecutor, type ExecutionEventBus, type RequestContext } from "sdk-0.3/server";

// Executors for `@a2a-js/sdk` 0.3, in the ways that agents are written for it.

const textOf = ({ parts }: Message): string => parts.map((part) => (part.kind === "text" ? part.text : "")).join("");

const message = (text: string, ids: { taskId?: string; contextId: string }): Message => ({
  kind: "message",
  messageId: crypto.randomUUID(),
  role: "agent",
  parts: [{ kind: "text", text }],
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
    if (this.context.task !== undefined) return;
    const { taskId, contextId, userMessage } = this.context;
    const status = { state: "submitted" as const, timestamp: new Date().toISOString() };
    const created: Task = { kind: "task", id: taskId, contextId, status, history: [userMessage] };
    this.bus.publish(created);
  }

  status(state: TaskState, text: string | undefined, final: boolean): void {
    const messagePart = text === undefined ? {} : { message: message(text, this.ids) };
    const status = { state, timestamp: new Date().toISOString(), ...messagePart };
    this.bus.publish({ kind: "status-update", ...this.ids, status, final } satisfies TaskStatusUpdateEvent);
  }

  chunk(artifactId: string, text: string, append: boolean, lastChunk: boolean): void {
    const artifact = { artifactId, name: artifactId, parts: [{ kind: "text" as const, text }] };
    const update: TaskArtifactUpdateEvent = { kind: "artifact-update", ...this.ids, artifact, append, lastChunk };
    this.bus.publish(update);
  }
}

/** Answers with a message. */
export class Hello implements AgentExecutor {
  async execute({ userMessage, contextId }: RequestContext, bus: ExecutionEventBus): Promise<void> {
    bus.publish(message(`hello ${textOf(userMessage)}`, { contextId }));
    bus.finished();
  }

  async cancelTask(): Promise<void> {}
}

/** Streams files, each in chunks, after `execute` has returned. */
export class Coder implements AgentExecutor {
  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const out = new Publisher(context, bus);
    out.begin();
    out.status("working", "writing code", false);
    void this.write(out, bus);
  }

  cancelTask = async (): Promise<void> => {};

  private async write(out: Publisher, bus: ExecutionEventBus): Promise<void> {
    for (const file of ["a.ts", "b.ts"]) {
      for (const [at, line] of ["one\n", "two\n", "three\n"].entries()) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        out.chunk(file, line, at > 0, at === 2);
      }
    }
    out.status("completed", "two files", true);
    bus.finished();
  }
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
    if (prompt === "refuse") throw A2AError.unsupportedOperation("no such film");
    out.begin();
    if (context.task === undefined && prompt !== "search forever") {
      out.status("input-required", "which year?", true);
      return;
    }
    out.status("working", "searching", false);
    do {
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (this.canceled.has(context.taskId)) {
        out.status("canceled", "stopped searching", true);
        bus.finished();
        return;
      }
    } while (prompt === "search forever");
    const words = (context.task?.history ?? []).map(textOf).join(", ");
    out.status("completed", `found by ${context.context?.user?.userName}: ${words}`, true);
    bus.finished();
  }
}
