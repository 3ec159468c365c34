import assert from "node:assert/strict";
import type { NewSend, TaskStore } from "../../core/ports.js";
import { A2AError } from "../../protocol/errors.js";
import { indexedMaxBytes } from "../../protocol/indexed-text.js";
import { TaskState } from "../../protocol/model.js";
import { alice, appendTo, newTask, status } from "./fixtures.js";
import { Random } from "./random.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

/** Random characters by encoded size, so that texts are distinct and do not compress. */
const alphabets = {
  "letters and digits": { bytes: 1, draw: (random: Random) => String.fromCharCode(random.int(0x21, 0x7e)) },
  "Chinese characters": { bytes: 3, draw: (random: Random) => String.fromCharCode(random.int(0x4e00, 0x9fa5)) },
  "characters beyond the first plane": {
    bytes: 4,
    draw: (random: Random) => String.fromCodePoint(random.int(0x20000, 0x2a6df)),
  },
  "NULs and U+FFFF": { bytes: 4, draw: (random: Random) => random.pick("\0", "\uffff") },
} as const;

type Field = keyof typeof indexedMaxBytes;

interface Texts {
  /** Returns a text of the maximum bytes of a field, plus `more` characters. */
  of(field: Field, more?: number): string;
}

function createTexts({ bytes, draw }: (typeof alphabets)[keyof typeof alphabets]): Texts {
  const random = new Random(7);
  return {
    of: (field, more = 0) =>
      random.list(Math.floor(indexedMaxBytes[field] / bytes) + more, () => draw(random)).join(""),
  };
}

function createSend(scope: NewSend["scope"], messageId: string): NewSend {
  return { scope, messageId, entry: "e", digest: "d", taskId: "t", seq: 0, instance: "here" };
}

/**
 * Indexed values have a maximum size that every store must accept. A longer value is rejected without affecting others.
 */
export function sizeTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("what tasks and sends are found by", () => {
    for (const [what, alphabet] of Object.entries(alphabets)) {
      it(
        `is taken up to its limit, all at once, in ${what}`,
        withStore(make, async (store) => {
          const texts = createTexts(alphabet);
          const scope = { agent: texts.of("agent"), tenant: texts.of("tenant"), owner: texts.of("owner") };
          const [id, contextId, name, messageId] = [texts.of("id"), texts.of("id"), texts.of("id"), texts.of("id")];
          const head = await store.create(newTask({ scope, id, contextId, name }));
          assert.deepEqual([head.scope, head.id, head.contextId], [scope, id, contextId]);
          assert.deepEqual((await store.head(scope, id))?.contextId, contextId);
          await assert.rejects(store.create(newTask({ scope, name })));
          assert.equal(await store.append(appendTo(head, status(TaskState.WORKING, 2_000, 2))), "stored");
          const page = await store.list(scope, { contextId, state: TaskState.WORKING, since: 2_000, limit: 5 });
          assert.deepEqual([page.tasks.map((task) => task.head.id), page.total], [[id], 1]);
          assert.equal((await store.beginSend(createSend(scope, messageId))).messageId, messageId);
          assert.deepEqual((await store.readSend(scope, messageId))?.scope, scope);
        }),
      );
      it(
        `is refused above it, with the field and the limit, in ${what}`,
        withStore(make, async (store) => {
          const texts = createTexts(alphabet);
          const scopes = {
            owner: { agent: "", tenant: "", owner: texts.of("owner", 1) },
            tenant: { ...alice, tenant: texts.of("tenant", 1) },
            agent: { ...alice, agent: texts.of("agent", 1) },
          };
          const long = texts.of("id", 1);
          for (const field of ["owner", "tenant", "agent"] as const) {
            await assertRefused(field, indexedMaxBytes[field], store.create(newTask({ scope: scopes[field] })));
            await assertRefused(field, indexedMaxBytes[field], store.beginSend(createSend(scopes[field], "m")));
            assert.equal((await store.list(scopes[field], { limit: 5 })).total, 0);
          }
          for (const field of ["id", "contextId", "name"] as const) {
            await assertRefused(field, indexedMaxBytes.id, store.create(newTask({ [field]: long })));
          }
          await assertRefused("messageId", indexedMaxBytes.id, store.beginSend(createSend(alice, long)));
          assert.equal((await store.list(alice, { limit: 5 })).total, 0);
        }),
      );
    }
  });
  momentTests({ describe, it }, make);
}

function momentTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a write that is refused for its size", () => {
    it(
      "fails alone among those of its moment",
      withStore(make, async (store) => {
        const existing = await store.create(newTask());
        const owner = "o".repeat(4_096);
        const [refusal, append, ...creations] = await Promise.allSettled<unknown>([
          store.create(newTask({ scope: { agent: "", tenant: "", owner } })),
          store.append(appendTo(existing)),
          ...Array.from({ length: 20 }, () => store.create(newTask())),
        ]);
        assert.equal(refusal?.status, "rejected");
        assert.deepEqual(append, { status: "fulfilled", value: "stored" });
        assert.deepEqual(
          creations.map((each) => each.status),
          creations.map(() => "fulfilled"),
        );
        assert.equal(await countAll(store), 21);
      }),
    );
  });
}

async function countAll(store: TaskStore): Promise<number> {
  return (await store.list(alice, { limit: 1 })).total;
}

async function assertRefused(field: string, limit: number, call: Promise<unknown>): Promise<void> {
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof A2AError, "is an A2AError");
    assert.equal(error.code, "invalidParams");
    assert.deepEqual(
      error.violations.map((violation) => violation.field),
      [field],
    );
    assert.match(error.message, new RegExp(`${field} has \\d+ bytes, the limit is ${limit}: `));
    return true;
  });
}
