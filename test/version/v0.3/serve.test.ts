import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createContext, type ServerContext } from "../../../src/protocol/context.js";
import { A2AError } from "../../../src/protocol/errors.js";
import {
  type SendMessageRequest,
  SendMessageRequestSchema,
  SubscribeToTaskRequestSchema,
  TaskPushNotificationConfigSchema,
  TaskSchema,
  TaskState,
} from "../../../src/protocol/model.js";
import {
  findOperation,
  type Operations,
  operations,
  type RequestOf,
  type StreamItem,
} from "../../../src/protocol/operations.js";
import { serveV03 } from "../../../src/version/v0.3/serve.js";
import { itemsOf } from "../../support/items.js";

type Handler = Operations<ServerContext>;

const context = createContext({
  principal: { owner: "o" },
  binding: "JSONRPC",
  version: "0.3",
  extensions: [],
  after: undefined,
});
const config = (id: string) => create(TaskPushNotificationConfigSchema, { taskId: "t", id, url: "https://h" });
const subscription = create(SubscribeToTaskRequestSchema, { id: "t" });
const get = (id: string) =>
  create(findOperation("getTaskPushNotificationConfig").input, {
    taskId: "t",
    id,
  }) as RequestOf<"getTaskPushNotificationConfig">;

describe("push configurations of a handler that lists them in pages", () => {
  const paged = (ids: readonly string[], tokens: string[] = []): Handler =>
    handlerOf({
      async listTaskPushNotificationConfigs({ pageToken }) {
        tokens.push(pageToken);
        const at = pageToken === "" ? 0 : Number(pageToken);
        const nextPageToken = at + 1 < ids.length ? String(at + 1) : "";
        const configs = ids.slice(at, at + 1).map(config);
        return { $typeName: "lf.a2a.v1.ListTaskPushNotificationConfigsResponse", configs, nextPageToken };
      },
    });
  const list = create(findOperation("listTaskPushNotificationConfigs").input, {
    taskId: "t",
  }) as RequestOf<"listTaskPushNotificationConfigs">;

  it("push configurations that the handler lists in pages are listed all at once in 0.3", async () => {
    const tokens: string[] = [];
    const { configs, nextPageToken } = await serveV03(paged(["a", "b", "c"], tokens)).listTaskPushNotificationConfigs(
      list,
      context,
    );
    expect(configs.map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(nextPageToken).toBe("");
    expect(tokens).toEqual(["", "1", "2"]);
  });

  it("the list of 0.3 push configurations ends when a page token leads back to an earlier page", async () => {
    const handler = handlerOf({
      listTaskPushNotificationConfigs: async () => ({
        $typeName: "lf.a2a.v1.ListTaskPushNotificationConfigsResponse",
        configs: [config("a")],
        nextPageToken: "again",
      }),
    });
    const { configs } = await serveV03(handler).listTaskPushNotificationConfigs(list, context);
    expect(configs).toHaveLength(2);
  });

  it.each([
    [["a", "t"], "t"],
    [["a", "b"], "a"],
  ])("of the 0.3 push configurations %j, the one found without an id is %s", async (ids, id) => {
    expect(await serveV03(paged(ids)).getTaskPushNotificationConfig(get(""), context)).toMatchObject({ id });
  });

  it("of no 0.3 push configurations, none is found without an id", async () => {
    await expect(serveV03(paged([])).getTaskPushNotificationConfig(get(""), context)).rejects.toMatchObject({
      code: "taskNotFound",
    });
  });
});

describe("a push configuration without an id that is part of a message", () => {
  const sendThrough = async (request: SendMessageRequest): Promise<string | undefined> => {
    let lastRequest: SendMessageRequest | undefined;
    const handler = handlerOf({
      sendMessage: async (incoming) => {
        lastRequest = incoming;
        return { $typeName: "lf.a2a.v1.SendMessageResponse", payload: { case: undefined } };
      },
    });
    await serveV03(handler).sendMessage(request, context);
    return lastRequest?.configuration?.taskPushNotificationConfig?.id;
  };

  it.each([
    ["t", "", "t"],
    ["t", "own", "own"],
    ["", "", ""],
  ])("a 0.3 push configuration of the task %j and the id %j has the id %j", async (taskId, id, meant) => {
    const configuration = { taskPushNotificationConfig: { id, url: "https://h" } };
    expect(await sendThrough(create(SendMessageRequestSchema, { message: { taskId }, configuration }))).toBe(meant);
  });

  it("a 0.3 push configuration that is part of a message changes nothing of the request", async () => {
    const configuration = { taskPushNotificationConfig: { url: "https://h" } };
    const request = create(SendMessageRequestSchema, { message: { taskId: "t" }, configuration });
    await sendThrough(request);
    expect(request.configuration?.taskPushNotificationConfig?.id).toBe("");
  });
});

describe("a subscription that is refused", () => {
  const ended = new A2AError("unsupportedOperation", "the task has ended");
  const failing = (error: unknown): AsyncIterable<StreamItem> => ({
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }),
  });
  const subscribed = (error: unknown, state: TaskState | undefined) =>
    serveV03(
      handlerOf({
        subscribeToTask: () => failing(error),
        getTask: async () => {
          if (state === undefined) throw new A2AError("taskNotFound", "none");
          return create(TaskSchema, { id: "t", status: { state } });
        },
      }),
    ).subscribeToTask(subscription, context);

  it("a 0.3 subscription that is refused for a task that has ended gives that task, and ends", async () => {
    const items = await itemsOf(subscribed(ended, TaskState.COMPLETED));
    expect(items).toMatchObject([{ response: { payload: { case: "task", value: { id: "t" } } } }]);
  });

  it.each([
    [ended, TaskState.WORKING],
    [ended, undefined],
    [new A2AError("taskNotFound", "none"), TaskState.COMPLETED],
    [new Error("boom"), TaskState.COMPLETED],
  ])("a 0.3 subscription that is refused with %s for a task in state %j fails with that", async (error, state) => {
    await expect(itemsOf(subscribed(error, state))).rejects.toBe(error);
  });

  it("a 0.3 subscription that is refused at once fails at once", () => {
    const handler = handlerOf({
      subscribeToTask: () => {
        throw ended;
      },
    });
    expect(() => serveV03(handler).subscribeToTask(subscription, context)).toThrow(ended);
  });
});

it("a 0.3 subscription can be left while it waits", async () => {
  let left = 0;
  const handler = handlerOf({
    subscribeToTask: () => ({
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: async () => {
          left++;
          return { done: true, value: undefined };
        },
      }),
    }),
  });
  const items = serveV03(handler).subscribeToTask(subscription, context)[Symbol.asyncIterator]();
  void items.next();
  expect(await items.return?.()).toEqual({ done: true, value: undefined });
  expect(await items.next()).toEqual({ done: true, value: undefined });
  expect(left).toBe(1);
});

/** A handler with some operations only. */
function handlerOf(own: Partial<Handler>): Handler {
  const none = Object.fromEntries(
    operations.map(({ name }) => [name, () => Promise.reject(new Error(`${name} is not expected`))]),
  );
  return { ...none, ...own } as Handler;
}
