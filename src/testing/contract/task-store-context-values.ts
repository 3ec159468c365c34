import assert from "node:assert/strict";
import type { TaskStore } from "../../core/ports.js";
import { A2AError } from "../../protocol/errors.js";
import { alice, bob, foreign, sibling } from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";
import { conversationWrite } from "./task-store-conversations.js";

/** The states of contexts. */
export function contextValueTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a value of a context", () => {
    it(
      "is read as it was written, and replaced or deleted by who knows its version",
      withStore(make, async (store) => {
        assert.equal(await store.readContextValue(alice, "c", "cart"), undefined);
        assert.equal(await putValue(store, { json: '["apple \\u0000"]', version: "1" }), "stored");
        assert.deepEqual(await store.readContextValue(alice, "c", "cart"), { json: '["apple \\u0000"]', version: "1" });
        assert.equal(await putValue(store, { json: "2", version: "2" }, undefined), "moved");
        assert.equal(await putValue(store, { json: "2", version: "2" }, "0"), "moved");
        assert.equal(await putValue(store, { json: "2", version: "2" }, "1"), "stored");
        assert.equal(await putValue(store, undefined, "1"), "moved");
        assert.equal((await store.readContextValue(alice, "c", "cart"))?.version, "2");
        assert.equal(await putValue(store, undefined, "2"), "stored");
        assert.equal(await store.readContextValue(alice, "c", "cart"), undefined);
      }),
    );
    it(
      "is written by one of several at once",
      withStore(make, async (store) => {
        const versions = Array.from({ length: 8 }, (_, index) => `v-${index}`);
        const results = await Promise.all(versions.map((version) => putValue(store, { json: "1", version })));
        assert.deepEqual(results.toSorted(), [...versions.slice(1).map(() => "moved"), "stored"]);
        const winner = versions[results.indexOf("stored")];
        assert.equal((await store.readContextValue(alice, "c", "cart"))?.version, winner);
      }),
    );
    it(
      "is another one in another context, and for another owner, tenant or agent",
      withStore(make, async (store) => {
        assert.equal(await putValue(store, { json: "1", version: "1" }), "stored");
        for (const [scope, contextId] of [
          [bob, "c"],
          [foreign, "c"],
          [sibling, "c"],
          [alice, "d"],
        ] as const) {
          assert.equal(await store.readContextValue(scope, contextId, "cart"), undefined);
          const write = { name: "cart", replaces: undefined, value: { json: "2", version: "1" }, ...keeping };
          assert.equal(await store.writeContextValue(scope, contextId, write), "stored");
        }
        assert.equal((await store.readContextValue(alice, "c", "cart"))?.json, "1");
      }),
    );
  });
  limitTests({ describe, it }, make);
}

function limitTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a value of a context", () => {
    it(
      "is refused beyond the size of the state, which names and values share",
      withStore(make, async (store) => {
        const of = (name: string, json: string, replaces?: string) =>
          store.writeContextValue(alice, "c", {
            name,
            replaces,
            value: { json, version: json },
            ...keeping,
            maxBytes: 21,
          });
        assert.equal(await of("a", '"12345678"'), "stored");
        assert.equal(await of("b", '"12345678"'), "full");
        assert.equal(await of("b", '"1234567"'), "stored");
        assert.equal(await of("a", '"123456789"', '"12345678"'), "full");
        assert.equal(await of("a", '"éééé"', '"12345678"'), "stored");
        assert.equal(await of("c", "1"), "full");
        assert.equal((await store.readContextValue(alice, "c", "b"))?.json, '"1234567"');
      }),
    );
    it(
      "goes with its conversation, and stays while that is within its bounds",
      withStore(make, async (store) => {
        await store.addToConversations([conversationWrite({})]);
        await putValue(store, { json: "1", version: "1" });
        await store.boundConversations(alice, { entries: 1, bytes: 1_000 });
        assert.equal((await store.readContextValue(alice, "c", "cart"))?.json, "1");
        assert.equal(await store.deleteConversation(alice, "c"), true);
        assert.equal(await store.readContextValue(alice, "c", "cart"), undefined);
        await putValue(store, { json: "1", version: "1" });
        assert.equal(await store.deleteConversation(alice, "c"), true);
      }),
    );
    it(
      "has a key of bounded length",
      withStore(make, async (store) => {
        const long = "x".repeat(1_025);
        for (const [contextId, name] of [
          ["c", long],
          [long, "cart"],
        ] as const) {
          const write = { name, replaces: undefined, value: { json: "1", version: "1" }, ...keeping };
          const isRefused = (error: unknown) => error instanceof A2AError && error.code === "invalidParams";
          await assert.rejects(store.writeContextValue(alice, contextId, write), isRefused);
        }
      }),
    );
  });
}

const keeping = { usedAt: 1_000, expiresAt: undefined, maxBytes: 1_000 };

function putValue(
  store: TaskStore,
  value: { readonly json: string; readonly version: string } | undefined,
  replaces?: string,
) {
  return store.writeContextValue(alice, "c", { name: "cart", replaces, value, ...keeping });
}
