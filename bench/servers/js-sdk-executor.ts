import { randomUUID } from "node:crypto";
import { setTimeout as delay, setImmediate as givenWay } from "node:timers/promises";
import { type Message, Role, type Task, TaskState, type TaskStatus } from "@a2a-js/sdk";
import { AgentEvent, type AgentExecutor, type ExecutionEventBus, type RequestContext } from "@a2a-js/sdk/server";
import { answerText, artifactId, chunkText, parseScript, pausesAfter, type Script, stamp } from "../corpus.ts";

/** The scripts of the corpus as the SDK's samples write an agent: the task first, then its updates. */
export const executor: AgentExecutor = {
  execute: async (context, bus) => {
    const content = context.userMessage.parts[0]?.content;
    const script = parseScript(content?.$case === "text" ? content.value : "");
    if (script.verb === "message") bus.publish(AgentEvent.message(reply(context.contextId)));
    else await run(script, context, bus);
    bus.finished();
  },
  cancelTask: async () => {},
};

async function run({ verb, count }: Script, context: RequestContext, bus: ExecutionEventBus): Promise<void> {
  const { taskId, contextId } = context;
  bus.publish(AgentEvent.task(newTask(context)));
  if (verb === "hold") await new Promise(() => {});
  const append = (index: number, id: string, text: string) => {
    const artifact = { artifactId: id, name: "", description: "", metadata: undefined, extensions: [] };
    const parts = [part(text)];
    const flags = { append: index > 0, lastChunk: false, metadata: undefined };
    bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact: { ...artifact, parts }, ...flags }));
  };
  if (verb === "task" || verb === "fail") append(0, randomUUID(), answerText);
  for (let index = 0; index < count; index++) {
    append(index, artifactId, verb === "rush" && index === 0 ? stamp() : chunkText(index));
    if (verb === "stream") await givenWay();
    if (verb === "paced" && pausesAfter(index, count)) await delay(1);
  }
  const endStatus = status(verb === "fail" ? TaskState.TASK_STATE_FAILED : TaskState.TASK_STATE_COMPLETED);
  bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: endStatus, metadata: undefined }));
}

function newTask({ taskId, contextId, userMessage }: RequestContext): Task {
  const working = status(TaskState.TASK_STATE_WORKING);
  return { id: taskId, contextId, status: working, artifacts: [], history: [userMessage], metadata: undefined };
}

function status(state: TaskState): TaskStatus {
  return { state, message: undefined, timestamp: new Date().toISOString() };
}

function reply(contextId: string): Message {
  const ids = { messageId: randomUUID(), contextId, taskId: "" };
  const emptyMembers = { metadata: undefined, extensions: [], referenceTaskIds: [] };
  return { ...ids, role: Role.ROLE_AGENT, parts: [part(answerText)], ...emptyMembers };
}

function part(text: string): Message["parts"][number] {
  return { content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" };
}
