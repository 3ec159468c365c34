import assert from "node:assert/strict";
import { create, toBinary } from "@bufbuild/protobuf";
import type {
  ConversationQuery,
  ConversationRecord,
  ConversationWrite,
  StoredConversationRecord,
  TaskStore,
} from "../../core/ports.js";
import { ArtifactSchema, type Message, MessageSchema, Role, TaskState } from "../../protocol/model.js";
import { alice, appendTo, bob, events, foreign, newTask, sibling } from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

/** Conversations of contexts. */
export function conversationTests(suite: Suite, make: MakeTaskStore): void {
  suite.describe("a conversation", () => {
    readTests(suite, make);
    taskTests(suite, make);
    boundTests(suite, make);
  });
}

function readTests({ it }: Suite, make: MakeTaskStore): void {
  it(
    "has the entries of its context, oldest first, as they were written",
    withStore(make, async (store) => {
      const records = [
        messageRecord("one"),
        messageRecord("two", "agent"),
        artifact("three"),
        { ...messageRecord("four"), content: undefined },
      ];
      await store.addToConversations([
        conversationWrite({ entries: records.slice(0, 2) }),
        conversationWrite({ contextId: "d" }),
      ]);
      await store.addToConversations([conversationWrite({ entries: records.slice(2) })]);
      const page = await readPage(store);
      assert.deepEqual(page.map(plainRecord), records.map(plainRecord));
      assert.deepEqual(listIds(await readPage(store, {}, "d")), ["said"]);
      assert.deepEqual(await readPage(store, {}, "e"), []);
      const [first] = page;
      assert.equal(first?.content?.$typeName === MessageSchema.typeName && first.content.contextId, "c");
    }),
  );
  it(
    "is read backwards in pages, which entries of one moment leave in order",
    withStore(make, async (store) => {
      const ids = Array.from({ length: 25 }, (_, index) => `m-${index}`);
      for (const id of ids) await store.addToConversations([conversationWrite({ entries: [messageRecord(id)] })]);
      const pages: string[][] = [];
      for (let before: number | undefined; ; ) {
        const page = await readPage(store, { limit: 10, before });
        if (page.length === 0) break;
        pages.unshift(listIds(page));
        before = page[0]?.number;
      }
      assert.deepEqual(pages, [ids.slice(0, 5), ids.slice(5, 15), ids.slice(15)]);
    }),
  );
  it(
    "has pages of a bounded size, with one entry at least",
    withStore(make, async (store) => {
      const entries = ["a", "b", "c"].map((id) => ({ ...messageRecord(id), bytes: 100 }));
      await store.addToConversations([conversationWrite({ entries })]);
      assert.deepEqual(listIds(await readPage(store, { maxBytes: 250 })), ["b", "c"]);
      assert.deepEqual(listIds(await readPage(store, { maxBytes: 1 })), ["c"]);
    }),
  );
  it(
    "is another one for another owner, tenant or agent",
    withStore(make, async (store) => {
      const scopes = [alice, bob, foreign, sibling];
      await store.addToConversations([conversationWrite({})]);
      for (const scope of scopes.slice(1)) {
        assert.deepEqual(await store.readConversation(scope, "c", { limit: 10, maxBytes: 1_000 }), []);
        assert.equal(await store.deleteConversation(scope, "c"), false);
        await store.addToConversations([
          conversationWrite({ scope, entries: [messageRecord(scope.agent + scope.tenant + scope.owner)] }),
        ]);
      }
      for (const scope of scopes.slice(1)) {
        const page = await store.readConversation(scope, "c", { limit: 10, maxBytes: 1_000 });
        assert.deepEqual(listIds(page), [scope.agent + scope.tenant + scope.owner]);
      }
      assert.deepEqual(listIds(await readPage(store)), ["said"]);
    }),
  );
  it(
    "has each entry once when several are added at the same time",
    withStore(make, async (store) => {
      const ids = Array.from({ length: 40 }, (_, index) => `m-${String(index).padStart(2, "0")}`);
      await Promise.all(
        ids.map((id) =>
          store.addToConversations([conversationWrite({ entries: [messageRecord(id), messageRecord(`${id}'`)] })]),
        ),
      );
      const page = await readPage(store, { limit: 100 });
      assert.deepEqual(new Set(listIds(page)), new Set(ids.flatMap((id) => [id, `${id}'`])));
      assert.equal(new Set(page.map(({ number }) => number)).size, 80);
      for (const [index, { id }] of page.entries()) if (index % 2 === 1) assert.equal(id, `${page[index - 1]?.id}'`);
    }),
  );
}

function taskTests({ it }: Suite, make: MakeTaskStore): void {
  it(
    "gets what comes with the writes of a task",
    withStore(make, async (store) => {
      const head = await store.create(
        newTask({ conversation: conversationWrite({ entries: [messageRecord("asked")] }) }),
      );
      await store.append(
        appendTo(head, { conversation: conversationWrite({ entries: [artifact("result"), messageRecord("done")] }) }),
      );
      assert.deepEqual(listIds(await readPage(store)), ["asked", "result", "done"]);
    }),
  );
  it(
    "gets nothing from a write that is refused",
    withStore(make, async (store) => {
      const conversation = conversationWrite({ entries: [messageRecord("refused")] });
      const head = await store.create(newTask({ name: "trip" }));
      assert.equal(await store.append(appendTo({ ...head, epoch: 2 }, { conversation })), "fenced");
      assert.equal(await store.append(appendTo(head, { conversation, takes: ["none"] })), "inboxMoved");
      assert.equal(await store.append(appendTo(head, { conversation, end: { inboxPut: 7 } })), "inboxMoved");
      await assert.rejects(store.create(newTask({ id: head.id, conversation })));
      await assert.rejects(store.create(newTask({ name: "trip", conversation })));
      assert.deepEqual(await readPage(store), []);
      const endWrite = { records: events(1, 1), status: { state: TaskState.COMPLETED, time: 2_000 } };
      assert.equal(await store.append(appendTo(head, { ...endWrite, conversation: conversationWrite({}) })), "stored");
      assert.deepEqual(listIds(await readPage(store)), ["said"]);
    }),
  );
  it(
    "gets the entries of several tasks that are written at once",
    withStore(make, async (store) => {
      const ids = Array.from({ length: 20 }, (_, index) => `m-${index}`);
      const heads = await Promise.all(
        ids.map((id) => store.create(newTask({ conversation: conversationWrite({ entries: [messageRecord(id)] }) }))),
      );
      await Promise.all(
        heads.map((head, index) =>
          store.append(
            appendTo(head, { conversation: conversationWrite({ entries: [messageRecord(`${ids[index]}'`)] }) }),
          ),
        ),
      );
      const pageIds = listIds(await readPage(store, { limit: 100 }));
      assert.deepEqual(new Set(pageIds), new Set(ids.flatMap((id) => [id, `${id}'`])));
      assert.equal(pageIds.length, 40);
      for (const id of ids) assert.ok(pageIds.indexOf(id) < pageIds.indexOf(`${id}'`));
    }),
  );
}

function boundTests({ it }: Suite, make: MakeTaskStore): void {
  it(
    "shows no more than its latest entries",
    withStore(make, async (store) => {
      const ids = Array.from({ length: 9 }, (_, index) => `m-${index}`);
      for (const id of ids)
        await store.addToConversations([conversationWrite({ entries: [messageRecord(id)], maxEntries: 4 })]);
      const page = await readPage(store);
      assert.deepEqual(listIds(page), ids.slice(-4));
      assert.deepEqual(await readPage(store, { before: page[0]?.number }), []);
      await store.addToConversations([conversationWrite({ entries: [messageRecord("last")], maxEntries: 2 })]);
      assert.deepEqual(listIds(await readPage(store)), ["m-8", "last"]);
    }),
  );
  it(
    "is gone once it is deleted, and begins anew with what is said later",
    withStore(make, async (store) => {
      await store.addToConversations([conversationWrite({}), conversationWrite({ contextId: "d" })]);
      assert.deepEqual(
        [await store.deleteConversation(alice, "c"), await store.deleteConversation(alice, "c")],
        [true, false],
      );
      assert.deepEqual([await readPage(store), listIds(await readPage(store, {}, "d"))], [[], ["said"]]);
      await store.addToConversations([conversationWrite({ entries: [messageRecord("anew")] })]);
      assert.deepEqual(listIds(await readPage(store)), ["anew"]);
    }),
  );
  it(
    "of an owner with too many goes first when it is the least recently used, and the latest one stays",
    withStore(make, async (store) => {
      const entries = [messageRecord("a"), messageRecord("b"), messageRecord("c")].map((entry) => ({
        ...entry,
        bytes: 100,
      }));
      for (const [index, contextId] of ["first", "second", "third"].entries()) {
        await store.addToConversations([conversationWrite({ contextId, entries, usedAt: 1_000 + index })]);
      }
      await store.addToConversations([
        conversationWrite({ contextId: "first", usedAt: 2_000 }),
        conversationWrite({ scope: bob }),
      ]);
      const pageSizes = async () => {
        const pages = ["first", "second", "third"].map((id) => readPage(store, {}, id));
        return (await Promise.all(pages)).map(({ length }) => length);
      };
      assert.equal((await store.boundConversations(alice, { entries: 100, bytes: 1 << 20 })).entries, 10);
      assert.deepEqual(await pageSizes(), [4, 3, 3]);
      assert.equal((await store.boundConversations(alice, { entries: 8, bytes: 1 << 20 })).entries, 7);
      assert.deepEqual(await pageSizes(), [4, 0, 3]);
      assert.equal((await store.boundConversations(alice, { entries: 100, bytes: 1 })).entries, 4);
      assert.deepEqual(await pageSizes(), [4, 0, 0]);
      assert.equal((await store.boundConversations(bob, { entries: 1, bytes: 1 })).entries, 1);
      assert.deepEqual(await store.boundConversations(sibling, { entries: 1, bytes: 1 }), { entries: 0, bytes: 0 });
      await store.addToConversations([conversationWrite({ contextId: "second" })]);
      assert.deepEqual(await pageSizes(), [4, 1, 0]);
    }),
  );
}

/** A message of a conversation. */
function messageRecord(id: string, kind: "user" | "agent" = "user"): ConversationRecord {
  const role = kind === "user" ? Role.USER : Role.AGENT;
  const parts = [{ content: { case: "text" as const, value: `text of ${id}` } }];
  const content = create(MessageSchema, { messageId: id, contextId: "c", role, parts });
  return { kind, id, taskId: "", at: 1_000, content, bytes: 10 };
}

function artifact(id: string): ConversationRecord {
  const parts = [{ content: { case: "raw" as const, value: new Uint8Array([1, 2, 3]) } }];
  return {
    ...messageRecord(id),
    kind: "artifact",
    taskId: "t",
    content: create(ArtifactSchema, { artifactId: id, parts }),
  };
}

/** A write to alice's conversation in the context `c`. */
export function conversationWrite(changes: Partial<ConversationWrite>): ConversationWrite {
  const context = { scope: alice, contextId: "c", usedAt: 1_000, expiresAt: undefined, maxEntries: 1_000 };
  return { ...context, entries: [messageRecord("said")], ...changes };
}

function readPage(
  store: TaskStore,
  query: Partial<ConversationQuery> = {},
  contextId = "c",
): Promise<readonly StoredConversationRecord[]> {
  return store.readConversation(alice, contextId, { limit: 50, maxBytes: 1 << 20, ...query });
}

function listIds(entries: readonly ConversationRecord[]): string[] {
  return entries.map(({ id }) => id);
}

function plainRecord({ kind, id, taskId, at, bytes, content }: ConversationRecord) {
  const entry = { kind, id, taskId, at, bytes };
  if (content === undefined) return entry;
  if (content.$typeName === ArtifactSchema.typeName) return { ...entry, content: toBinary(ArtifactSchema, content) };
  // The ids of task and context are those of the entry and its conversation.
  const message: Message = { ...content, taskId: "", contextId: "" };
  return { ...entry, content: toBinary(MessageSchema, message) };
}
