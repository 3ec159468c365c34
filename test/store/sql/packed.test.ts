import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AppendRow, ConversationWriteRow, LogRow, NewTaskRow } from "../../../src/store/sql/rows.js";
import type { BackendRequest } from "../../../src/store/sqlite/messages.js";
import { type GroupWrite, packWrites, unpackWrites } from "../../../src/store/sqlite/packed.js";

const whole = fc.nat(2 ** 31);
const text = fc.string({ maxLength: 8 });
const bytes = fc.uint8Array({ maxLength: 300 });
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined });

const log: fc.Arbitrary<LogRow> = fc.record({ seq: whole, count: whole, format: whole, bytes });
const status = fc.record({
  state: whole,
  time: whole,
  summary: maybe(fc.uint8Array({ minLength: 1, maxLength: 300 })),
});
const scope = fc.record({ agent: text, tenant: text, owner: text });
const conversation: fc.Arbitrary<ConversationWriteRow> = fc.record({
  scope,
  contextId: text,
  usedAt: whole,
  expiresAt: maybe(whole),
  maxEntries: whole,
  entries: fc.array(
    fc.record({
      ...{ kind: whole, id: text, taskId: text, at: whole, bytes: whole },
      payload: maybe(fc.record({ format: whole, bytes })),
    }),
    { maxLength: 3 },
  ),
});
const body = {
  conversation: maybe(conversation),
  log: maybe(log),
  snapshot: maybe(fc.record({ seq: whole, format: whole, bytes })),
  end: maybe(
    fc.oneof(fc.record({ inboxPut: whole }), fc.record({ inboxPut: whole, park: fc.record({ wakeAt: maybe(whole) }) })),
  ),
  takes: fc.array(text, { maxLength: 3 }),
  turnSeq: whole,
};
const created: fc.Arbitrary<NewTaskRow> = fc.record({
  id: text,
  contextId: text,
  scope,
  holder: text,
  version: text,
  name: maybe(text),
  status,
  ...body,
});
const appended: fc.Arbitrary<AppendRow> = fc.record({
  key: whole,
  epoch: whole,
  seq: whole,
  claim: maybe(fc.record({ holder: text, turn: whole })),
  status: maybe(status),
  ...body,
});
const write: fc.Arbitrary<GroupWrite> = fc.oneof(
  fc.record({ kind: fc.constant("create"), row: created }),
  fc.record({ kind: fc.constant("append"), row: appended }),
  fc.record({ kind: fc.constant("conversations"), rows: fc.array(conversation, { minLength: 1, maxLength: 3 }) }),
  fc.record({
    kind: fc.constant("call"),
    call: fc.constant<BackendRequest>({ port: "tasks", method: "retire", args: ["here"] }),
  }),
);

describe("packed writes", () => {
  it("packed writes arrive unchanged at the other thread", () => {
    fc.assert(
      fc.property(fc.array(write, { maxLength: 8 }), (writes) => {
        const clone = structuredClone(packWrites(writes));
        expect(unpackWrites(clone)).toEqual(writes);
      }),
      { numRuns: 500 },
    );
  });
});
