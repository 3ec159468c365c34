import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventId, eventIdPrefix, parseEventId } from "../../../src/core/task/event-id.js";

describe("the id of an event", () => {
  it("an event id parses back to its position and task, whatever the task id", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 100 }).filter((taskId) => !/[\r\n]/.test(taskId)),
        fc.stringMatching(/^[0-9a-z-]{1,20}$/),
        fc.nat(),
        (taskId, incarnation, seq) => {
          expect(parseEventId(eventId(eventIdPrefix(taskId, incarnation), seq))).toEqual({ taskId, incarnation, seq });
        },
      ),
    );
  });

  it.each([
    "",
    ".",
    "..",
    "...",
    "a.b",
    "a.b.",
    "a..1",
    ".b.1",
    "a.b.-1",
    "a.b.1.5!",
    "a.b.ZZ",
    "a.b.zzzzzzzzzzz",
    `${"a".repeat(600)}.b.1`,
  ])("an event id is invalid: %j", (id) => {
    expect(parseEventId(id)).toBeUndefined();
  });

  it("an event id is invalid or has a safe integer position, for any text", () => {
    fc.assert(
      fc.property(fc.string(), (id) => {
        const position = parseEventId(id);
        expect(position === undefined || Number.isSafeInteger(position.seq)).toBe(true);
      }),
    );
  });
});
