import { expect } from "vitest";
import type { Client } from "../../../src/client/node.js";
import { emptyTask } from "../../../src/protocol/fold.js";
import { type Task, TaskState } from "../../../src/protocol/model.js";
import { type ForeignAgent, foreignAgent, type Habits, type JsonBinding } from "./resuming-agent.js";
import { chunk, type LineReader, lineReaderOf, status, taskEvent } from "./resuming-events.js";

/** An agent and a stream from it. */
export interface Scene extends AsyncDisposable {
  readonly agent: ForeignAgent;
  readonly client: Client;
  readonly stream: LineReader;
}

export async function sceneOf(
  binding: JsonBinding,
  habits: Habits,
  open: (client: Client) => ReturnType<Client["stream"]>,
): Promise<Scene> {
  const agent = await foreignAgent(habits);
  const client = await agent.connect(binding, { limits: { pollMs: 1 } });
  return {
    agent,
    client,
    stream: lineReaderOf(open(client)),
    async [Symbol.asyncDispose]() {
      await client.close();
      await agent[Symbol.asyncDispose]();
    },
  };
}

/** A stream of a send that has delivered the task and half of an artifact. */
export async function begunScene(binding: JsonBinding, habits: Habits = {}): Promise<Scene> {
  const scene = await sceneOf(binding, habits, (client) => client.stream("go"));
  const { agent, stream } = scene;
  const first = stream.next();
  await agent.opened(1);
  agent.emit(taskEvent(emptyTask("t", "c")), status("WORKING"), chunk("one ", false));
  expect(await first).toBe("task SUBMITTED");
  expect([await stream.next(), await stream.next()]).toEqual(["status WORKING", 'artifact a "one "']);
  return scene;
}

/** A task that waits for an answer. */
export const waiting: Task = {
  ...emptyTask("t", "c"),
  status: { $typeName: "lf.a2a.v1.TaskStatus", state: TaskState.INPUT_REQUIRED },
};
