import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { TaskPushNotificationConfigSchema } from "../../../src/protocol/model.js";
import { memoryPushStore } from "../../../src/store/memory/push-store.js";
import { alice } from "../../contract/fixtures.js";

describe("a memory push store that is full", () => {
  it("a full memory push store refuses a registration, and has room again after a deletion", async () => {
    const store = memoryPushStore({ maxBytes: 2_000 });
    const base = { scope: alice, taskId: "t", cursor: 0, version: "1.0", holder: "here" };
    const registration = (key: number, url: string) => ({
      ...base,
      key,
      config: create(TaskPushNotificationConfigSchema, { id: "p", url }),
    });
    await store.set(registration(1, "x".repeat(800)), 10);
    await expect(store.set(registration(2, "x".repeat(800)), 10)).rejects.toMatchObject({ code: "resourceExhausted" });
    expect(await store.list(2)).toEqual([]);
    await store.set(registration(1, "x"), 10);
    await store.set(registration(2, "x".repeat(800)), 10);
    await expect(store.set(registration(3, "x".repeat(800)), 10)).rejects.toMatchObject({ code: "resourceExhausted" });
    await store.delete(2, "p");
    expect(await store.set(registration(3, "x".repeat(800)), 10)).toBe("stored");
    await store.close();
  });

  it("a full memory push store drops settled configurations, the oldest first, and no other", async () => {
    const store = memoryPushStore({ maxBytes: 2_500 });
    const set = (key: number, settled: boolean) => {
      const config = create(TaskPushNotificationConfigSchema, { id: "p", url: "x".repeat(480) });
      const holder = settled ? "" : "here";
      return store.set({ scope: alice, taskId: "t", cursor: 0, version: "1.0", holder, settled, key, config }, 10);
    };
    await set(1, true);
    await set(2, false);
    await store.settle(2, "p", { holder: "here", cursor: 1 });
    await set(1, true);
    await set(3, false);
    const counts = async () => (await Promise.all([1, 2, 3].map((key) => store.list(key)))).map(({ length }) => length);
    expect(await counts()).toEqual([1, 0, 1]);
    await set(4, false);
    expect(await counts()).toEqual([0, 0, 1]);
    await expect(set(5, false)).rejects.toMatchObject({ code: "resourceExhausted" });
    await store.close();
  });
});
