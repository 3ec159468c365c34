import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { messageOf, type Rpc, startRpc, taskOf } from "./rpc-server.js";

describe("push configurations", () => {
  const push = { allow: "loopback" } as const;

  async function createQuestion(rpc: Rpc): Promise<string> {
    return taskOf(await rpc.call("message/send", { message: messageOf("ask") })).id;
  }

  // Requirements: V03-PUSH-9
  it("push configurations of 0.3 without an id have that of their task, and are found without one", async () => {
    await using rpc = await startRpc({ push });
    const taskId = await createQuestion(rpc);
    const set = (id: JsonObject, url: string) =>
      rpc.call("tasks/pushNotificationConfig/set", { taskId, pushNotificationConfig: { ...id, url } });
    await set({ id: "a" }, "http://127.0.0.1:9/a");
    expect((await rpc.call("tasks/pushNotificationConfig/get", { id: taskId }))["result"]).toMatchObject({
      taskId,
      pushNotificationConfig: { id: "a" },
    });
    expect((await set({}, "http://127.0.0.1:9/b"))["result"]).toMatchObject({ pushNotificationConfig: { id: taskId } });
    expect((await set({}, "http://127.0.0.1:9/c"))["result"]).toMatchObject({ pushNotificationConfig: { id: taskId } });
    expect((await rpc.call("tasks/pushNotificationConfig/get", { id: taskId }))["result"]).toMatchObject({
      pushNotificationConfig: { id: taskId, url: "http://127.0.0.1:9/c" },
    });
  });

  // Requirements: V03-PUSH-3
  it("push configurations of 0.3 are listed as a bare array, and deleted with the answer null", async () => {
    await using rpc = await startRpc({ push });
    const id = await createQuestion(rpc);
    const list = async () => (await rpc.call("tasks/pushNotificationConfig/list", { id }))["result"];
    expect(await list()).toEqual([]);
    for (const name of ["a", "b"]) {
      const pushNotificationConfig = { id: name, url: "http://127.0.0.1:9/" };
      await rpc.call("tasks/pushNotificationConfig/set", { taskId: id, pushNotificationConfig });
    }
    expect(await list()).toMatchObject([
      { taskId: id, pushNotificationConfig: { id: "a" } },
      { taskId: id, pushNotificationConfig: { id: "b" } },
    ]);
    for (let times = 0; times < 2; times++) {
      const params = { id, pushNotificationConfigId: "a" };
      expect(await rpc.call("tasks/pushNotificationConfig/delete", params)).toEqual({
        jsonrpc: "2.0",
        id: "q",
        result: null,
      });
    }
    expect(await list()).toHaveLength(1);
  });

  // Requirements: V03-PUSH-9
  it.each([{}, { pushNotificationConfigId: "none" }])(
    "push configurations of 0.3 that are missing are -32001: %j",
    async (which) => {
      await using rpc = await startRpc({ push });
      const id = await createQuestion(rpc);
      expect((await rpc.call("tasks/pushNotificationConfig/get", { id, ...which }))["error"]).toMatchObject({
        code: -32001,
      });
    },
  );

  // Requirements: V03-PUSH-1
  it.each(["set", "get", "list", "delete"])(
    "push configurations of 0.3 are -32003 where there is no push: %s",
    async (word) => {
      await using rpc = await startRpc();
      const id = await createQuestion(rpc);
      const pushNotificationConfig = { url: "http://127.0.0.1:9/" };
      const params = { id, taskId: id, pushNotificationConfigId: "a", pushNotificationConfig };
      expect((await rpc.call(`tasks/pushNotificationConfig/${word}`, params))["error"]).toMatchObject({ code: -32003 });
    },
  );

  it("push configurations of 0.3 that are part of a message are -32003 where push is off", async () => {
    await using rpc = await startRpc();
    const configuration = { pushNotificationConfig: { url: "http://127.0.0.1:9/" } };
    const answer = await rpc.call("message/send", { message: messageOf("go"), configuration });
    expect(answer["error"]).toMatchObject({ code: -32003 });
  });
});
