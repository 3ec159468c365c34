import type { ErrorCode } from "../../src/protocol/errors.js";
import { collect, type Peer, send, taskOf, working } from "./client-cases.js";

const unknownId = "00000000-0000-7000-8000-000000000000";

/** A call that must fail, and the error code that our client must report. */
export interface ErrorCase {
  readonly name: string;
  readonly code: ErrorCode;
  run(peer: Peer): Promise<unknown>;
}

const finished = async ({ client }: Peer): Promise<string> => (await taskOf(client, send("task"))).id;

export const errorCases: readonly ErrorCase[] = [
  { name: "gets a task that is none", code: "taskNotFound", run: ({ client }) => client.getTask({ id: unknownId }) },
  {
    name: "cancels a task that is none",
    code: "taskNotFound",
    run: ({ client }) => client.cancelTask({ id: unknownId }),
  },
  {
    name: "subscribes to a task that is none",
    code: "taskNotFound",
    run: ({ client }) => collect(client.subscribeToTask({ id: unknownId })),
  },
  {
    name: "sends to a task that is none",
    code: "taskNotFound",
    run: ({ client }) => client.sendMessage(send("task", { taskId: unknownId })),
  },
  {
    name: "streams to a task that is none",
    code: "taskNotFound",
    run: ({ client }) => collect(client.sendStreamingMessage(send("task", { taskId: unknownId }))),
  },
  {
    name: "creates a push configuration for a task that is none",
    code: "taskNotFound",
    run: ({ client }) => client.createTaskPushNotificationConfig({ taskId: unknownId, url: "http://127.0.0.1:9/" }),
  },
  {
    name: "gets a push configuration that is none",
    code: "taskNotFound",
    async run({ client }) {
      const { id: taskId } = await working(client);
      try {
        return await client.getTaskPushNotificationConfig({ taskId, id: "none" });
      } finally {
        await client.cancelTask({ id: taskId });
      }
    },
  },
  {
    name: "cancels a finished task",
    code: "taskNotCancelable",
    run: async (peer) => peer.client.cancelTask({ id: await finished(peer) }),
  },
  {
    name: "subscribes to a finished task",
    code: "unsupportedOperation",
    run: async (peer) => collect(peer.client.subscribeToTask({ id: await finished(peer) })),
  },
  {
    name: "sends to a finished task",
    code: "unsupportedOperation",
    run: async (peer) => peer.client.sendMessage(send("more", { taskId: await finished(peer) })),
  },
  {
    name: "sends a message without parts",
    code: "invalidParams",
    run: ({ client }) => client.sendMessage(send("", { parts: [] })),
  },
  {
    name: "asks for a page that is none",
    code: "invalidParams",
    run: ({ client }) => client.listTasks({ pageToken: "made up" }),
  },
  {
    name: "asks for too large a page",
    code: "invalidParams",
    run: ({ client }) => client.listTasks({ pageSize: 500 }),
  },
  {
    name: "asks for a version that is none",
    code: "versionNotSupported",
    run: ({ client }) => client.getTask({ id: unknownId }, { headers: { "A2A-Version": "9.9" } }),
  },
  {
    name: "asks for an extended card that there is none of",
    code: "unsupportedOperation",
    run: ({ client }) => client.getExtendedAgentCard({}),
  },
];
