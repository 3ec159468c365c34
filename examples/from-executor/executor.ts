// An executor as it was written for @a2a-js/sdk 1.x: asks for a harbour, reports the tides, and stops when it is canceled.
import { setTimeout as sleep } from "node:timers/promises";
import { Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { AgentEvent, type AgentExecutor, type ExecutionEventBus, type RequestContext } from "@a2a-js/sdk/server";

export class TideExecutor implements AgentExecutor {
  private readonly canceled = new Set<string>();

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { taskId, contextId, userMessage } = context;
    const status = (state: string, text: string): void => {
      const message = { messageId: crypto.randomUUID(), role: "ROLE_AGENT", parts: [{ text }], taskId, contextId };
      bus.publish(
        AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status: { state, message } })),
      );
    };
    const created = {
      id: taskId,
      contextId,
      status: { state: "TASK_STATE_SUBMITTED" },
      history: [Message.toJSON(userMessage)],
    };
    bus.publish(AgentEvent.task(context.task ?? Task.fromJSON(created)));

    if (context.task === undefined) return status("TASK_STATE_INPUT_REQUIRED", "Which harbour?");

    const harbour = userMessage.parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
    status("TASK_STATE_WORKING", `Asking ${harbour}`);
    for (let hour = 3; hour < 24; hour += 6) {
      await sleep(20);
      if (this.canceled.delete(taskId)) return status("TASK_STATE_CANCELED", "Stopped");
      const parts = [{ text: `${hour}:10 ${hour % 12 === 3 ? "high" : "low"} water\n` }];
      const artifact = { artifactId: "tides", name: "tides", parts };
      const update = { taskId, contextId, artifact, append: hour > 3, lastChunk: hour === 21 };
      bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(update)));
    }
    status("TASK_STATE_COMPLETED", `Tides of ${harbour}`);
  }

  async cancelTask(taskId: string): Promise<void> {
    this.canceled.add(taskId);
  }
}
