import { completed, inputRequired } from "trivium";
import { expect, it } from "vitest";
import type { RequestOf } from "../../../src/protocol/operations.js";
import { webhook } from "../../push/receiver.js";
import { errorOf, requestOf, say, taskOf } from "../../support/say.js";
import { overEach, overEveryWire, type ServedAgent, type StartAgent } from "../../support/serve-agent.js";
import { errorOverWire, expectWrong, wiresOf, wiresThat } from "../../support/wires.js";

// The four operations on push configurations. Delivery is tested with the push room.

type Config = RequestOf<"createTaskPushNotificationConfig">;

const url = "http://127.0.0.1:9/hook";
const config = (fields: Partial<Config>) => requestOf("createTaskPushNotificationConfig", { url, ...fields });

async function withTask(start: StartAgent): Promise<{ readonly served: ServedAgent; readonly taskId: string }> {
  const served = await start({ push: { allow: "loopback" }, agent: async () => inputRequired("more?") });
  return { served, taskId: taskOf(await served.client.sendMessage(say("go"), {})).id };
}

overEveryWire((start) => {
  it("an ended task accepts a push configuration, keeps it, and calls no webhook", async () => {
    await using hook = await webhook();
    const served = await start({ push: { allow: "loopback" }, agent: async () => completed() });
    const { client } = served;
    const taskId = taskOf(await client.sendMessage(say("go"), {})).id;
    const pushConfig = await client.createTaskPushNotificationConfig(config({ taskId, id: "late", url: hook.url }), {});
    expect(pushConfig).toMatchObject({ taskId, url: hook.url });
    const get = requestOf("getTaskPushNotificationConfig", { taskId, id: pushConfig.id });
    expect(await client.getTaskPushNotificationConfig(get, {})).toEqual(pushConfig);
    const list = requestOf("listTaskPushNotificationConfigs", { taskId });
    expect((await client.listTaskPushNotificationConfigs(list, {})).configs).toEqual([pushConfig]);
    // Closing sends what is pending.
    await served[Symbol.asyncDispose]();
    expect(hook.calls).toEqual([]);
  });

  it("neither the token nor the credentials of a push configuration are told, by any operation", async () => {
    const { served, taskId } = await withTask(start);
    await using _ = served;
    const { client } = served;
    const authentication = {
      $typeName: "lf.a2a.v1.AuthenticationInfo",
      scheme: "Bearer",
      credentials: "s3cret",
    } as const;
    const secret = config({ taskId, token: "t0ken", authentication });
    const made = await client.createTaskPushNotificationConfig(secret, {});
    const again = await client.createTaskPushNotificationConfig({ ...secret, id: made.id }, {});
    const ref = { taskId, id: made.id };
    const got = await client.getTaskPushNotificationConfig(requestOf("getTaskPushNotificationConfig", ref), {});
    const list = requestOf("listTaskPushNotificationConfigs", { taskId });
    const { configs } = await client.listTaskPushNotificationConfigs(list, {});
    for (const each of [made, again, got, ...configs]) expect(each).toMatchObject({ url, token: "" });
    expect(JSON.stringify([made, again, got, configs])).not.toMatch(/s3cret|t0ken/);
  });

  // Requirements: V1-PCFG-7, V1-PCFG-10, V1-PCFG-11
  it("deleting a push configuration is permanent and idempotent", async () => {
    const { served, taskId } = await withTask(start);
    await using _ = served;
    await served.client.createTaskPushNotificationConfig(config({ taskId, id: "a" }), {});
    const request = requestOf("deleteTaskPushNotificationConfig", { taskId, id: "a" });
    await served.client.deleteTaskPushNotificationConfig(request, {});
    await served.client.deleteTaskPushNotificationConfig(request, {});
    const get = requestOf("getTaskPushNotificationConfig", { taskId, id: "a" });
    expect(await errorOf(served.client.getTaskPushNotificationConfig(get, {}))).toMatchObject({ code: "taskNotFound" });
  });

  // Requirements: V1-PCFG-4, V1-PCFG-7, V03-PUSH-2
  it("all four operations of push configurations answer not found for an unknown task", async () => {
    const { served } = await withTask(start);
    await using _ = served;
    const { client } = served;
    const taskId = "none";
    const calls = [
      client.createTaskPushNotificationConfig(config({ taskId }), {}),
      client.getTaskPushNotificationConfig(requestOf("getTaskPushNotificationConfig", { taskId, id: "a" }), {}),
      client.listTaskPushNotificationConfigs(requestOf("listTaskPushNotificationConfigs", { taskId }), {}),
      client.deleteTaskPushNotificationConfig(requestOf("deleteTaskPushNotificationConfig", { taskId, id: "a" }), {}),
    ];
    for (const error of await Promise.all(calls.map(errorOf)))
      expect(error).toMatchObject(errorOverWire(served.wire, { code: "taskNotFound", metadata: { taskId } }));
  });

  // Requirements: V1-PCFG-1, V1-CAP-1
  it("an agent without push notifications refuses all four operations, and a configuration in a send", async () => {
    let turns = 0;
    await using served = await start({
      async agent() {
        turns++;
        return completed();
      },
    });
    const { client } = served;
    const taskId = "any";
    const configuration = { taskPushNotificationConfig: { url } };
    const calls = [
      client.createTaskPushNotificationConfig(config({ taskId }), {}),
      client.getTaskPushNotificationConfig(requestOf("getTaskPushNotificationConfig", { taskId, id: "a" }), {}),
      client.listTaskPushNotificationConfigs(requestOf("listTaskPushNotificationConfigs", { taskId }), {}),
      client.deleteTaskPushNotificationConfig(requestOf("deleteTaskPushNotificationConfig", { taskId, id: "a" }), {}),
      client.sendMessage(say("go", { configuration }), {}),
      client.sendStreamingMessage(say("go", { configuration }), {}),
    ];
    for (const error of await Promise.all(calls.map(errorOf)))
      expect(error).toMatchObject({ code: "pushNotificationNotSupported" });
    expect(turns).toBe(0);
  });

  // Requirements: V03-RPC-11
  it.each(["not a url", "ftp://x.example/", "http://", "https://user:pw@x.example/", "http://x.example:99999/"])(
    "a push configuration with an address that no webhook has is refused with the field named: %j",
    async (bad) => {
      const { served, taskId } = await withTask(start);
      await using _ = served;
      const error = await errorOf(served.client.createTaskPushNotificationConfig(config({ taskId, url: bad }), {}));
      expectWrong(served.wire, error, "url");
      const configuration = { taskPushNotificationConfig: { url: bad } };
      const field = "configuration.taskPushNotificationConfig.url";
      const inline = await errorOf(served.client.sendMessage(say("go", { configuration }), {}));
      expectWrong(served.wire, inline, field);
    },
  );

  // Requirements: V1-PUSH-8, V1-PUSH-18, V03-PUSH-6
  it("a push configuration with an address outside the allowed ones is refused", async () => {
    const { served, taskId } = await withTask(start);
    await using _ = served;
    for (const far of ["http://10.0.0.1/", "http://169.254.169.254/latest", "http://[fd00::1]/"]) {
      const error = await errorOf(served.client.createTaskPushNotificationConfig(config({ taskId, url: far }), {}));
      expectWrong(served.wire, error, "url");
    }
  });

  // Requirements: V1-SEC-24
  it("a line break in a header value of a push configuration is refused, with the field named", async () => {
    const { served, taskId } = await withTask(start);
    await using _ = served;
    const evil = "a\r\nX-Evil: 1";
    const authentication = (fields: object) =>
      ({ $typeName: "lf.a2a.v1.AuthenticationInfo", scheme: "Bearer", credentials: "", ...fields }) as const;
    const cases = [
      ["token", { token: evil }],
      ["authentication.scheme", { authentication: authentication({ scheme: evil }) }],
      ["authentication.credentials", { authentication: authentication({ credentials: evil }) }],
    ] as const;
    for (const [field, fields] of cases) {
      const error = await errorOf(served.client.createTaskPushNotificationConfig(config({ taskId, ...fields }), {}));
      expectWrong(served.wire, error, field);
    }
  });
});

overEach(wiresThat("keep several push configurations"), (start) => {
  // Requirements: V1-PCFG-5, V1-PCFG-6, V1-PCFG-8, V1-PUSH-9, V1-SEC-14, V03-PUSH-1
  it("a push configuration gets an id, is listed, and is returned without its credentials", async () => {
    const { served, taskId } = await withTask(start);
    await using _ = served;
    const { client } = served;
    const authentication = {
      $typeName: "lf.a2a.v1.AuthenticationInfo",
      scheme: "Bearer",
      credentials: "s3cret",
    } as const;
    const pushConfig = await client.createTaskPushNotificationConfig(
      config({ taskId, token: "t", authentication }),
      {},
    );
    expect(pushConfig).toMatchObject({ taskId, url, authentication: { scheme: "Bearer", credentials: "" } });
    expect(pushConfig.id).not.toBe("");
    const named = await client.createTaskPushNotificationConfig(config({ taskId, id: "mine" }), {});
    expect(named.id).toBe("mine");
    const get = requestOf("getTaskPushNotificationConfig", { taskId, id: pushConfig.id });
    expect(await client.getTaskPushNotificationConfig(get, {})).toEqual(pushConfig);
    const list = await client.listTaskPushNotificationConfigs(
      requestOf("listTaskPushNotificationConfigs", { taskId }),
      {},
    );
    expect(list).toMatchObject({ configs: [pushConfig, named], nextPageToken: "" });
  });

  it("a push configuration with a used id replaces the old one", async () => {
    const { served, taskId } = await withTask(start);
    await using _ = served;
    await served.client.createTaskPushNotificationConfig(config({ taskId, id: "a" }), {});
    await served.client.createTaskPushNotificationConfig(config({ taskId, id: "a", url: `${url}/2` }), {});
    const { configs } = await served.client.listTaskPushNotificationConfigs(
      requestOf("listTaskPushNotificationConfigs", { taskId }),
      {},
    );
    expect(configs.map(({ id, url }) => `${id} ${url}`)).toEqual([`a ${url}/2`]);
  });

  it("an eleventh push configuration of a task is refused", async () => {
    const { served, taskId } = await withTask(start);
    await using _ = served;
    for (let count = 0; count < 10; count++)
      await served.client.createTaskPushNotificationConfig(config({ taskId, id: `hook ${count}` }), {});
    const more = config({ taskId, id: "one more" });
    const error = await errorOf(served.client.createTaskPushNotificationConfig(more, {}));
    expect(error).toMatchObject({ code: "invalidParams" });
  });
});

overEach(wiresThat("page push configurations"), (start) => {
  // Requirements: V1-PCFG-8
  it("the list of push configurations comes in pages when asked to", async () => {
    const { served, taskId } = await withTask(start);
    await using _ = served;
    for (const id of ["a", "b c", "d"])
      await served.client.createTaskPushNotificationConfig(config({ taskId, id }), {});
    const ids: string[][] = [];
    let pageToken = "";
    do {
      const request = requestOf("listTaskPushNotificationConfigs", { taskId, pageSize: 2, pageToken });
      const page = await served.client.listTaskPushNotificationConfigs(request, {});
      ids.push(page.configs.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(ids).toEqual([["a", "b c"], ["d"]]);
  });
});

overEach(wiresThat("keep several push configurations"), (start) => {
  // Requirements: V03-PUSH-2
  it("a push configuration without an address is refused, with the field named", async () => {
    const { served, taskId } = await withTask(start);
    await using _ = served;
    const error = await errorOf(served.client.createTaskPushNotificationConfig(config({ taskId, url: "" }), {}));
    expectWrong(served.wire, error, "url");
  });

  it("all push configurations are listed at once without a page size", async () => {
    const { served, taskId } = await withTask(start);
    await using _ = served;
    const ids = ["a", "b c", "d"];
    for (const id of ids) await served.client.createTaskPushNotificationConfig(config({ taskId, id }), {});
    const { configs } = await served.client.listTaskPushNotificationConfigs(
      requestOf("listTaskPushNotificationConfigs", { taskId }),
      {},
    );
    expect(configs.map(({ id }) => id)).toEqual(ids);
  });
});

overEach(wiresOf("0.1"), (start) => {
  it("a task of 0.1 has one push configuration: a new one replaces it, one without an address deletes it", async () => {
    const { served, taskId } = await withTask(start);
    await using _ = served;
    const { client } = served;
    const list = async () =>
      (await client.listTaskPushNotificationConfigs(requestOf("listTaskPushNotificationConfigs", { taskId }), {}))
        .configs;
    expect(await list()).toEqual([]);
    await client.createTaskPushNotificationConfig(config({ taskId, id: "a", token: "t" }), {});
    await client.createTaskPushNotificationConfig(config({ taskId, id: "b", url: `${url}/2` }), {});
    expect(await list()).toMatchObject([{ id: taskId, taskId, url: `${url}/2`, token: "" }]);
    await client.createTaskPushNotificationConfig(config({ taskId, url: "" }), {});
    expect(await list()).toEqual([]);
  });
});
