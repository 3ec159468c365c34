import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { readEventId, resumeExtension, withEventId, withoutEventId } from "../../src/protocol/extensions.js";
import type { StreamResponse } from "../../src/protocol/model.js";
import { StreamResponseSchema } from "../../src/protocol/model.js";

const payloads = {
  task: { id: "t", contextId: "c" },
  statusUpdate: { taskId: "t", contextId: "c" },
  artifactUpdate: { taskId: "t", contextId: "c" },
} as const;

function event(name: keyof typeof payloads, metadata?: Record<string, string>): StreamResponse {
  const value = metadata === undefined ? payloads[name] : { ...payloads[name], metadata };
  return create(StreamResponseSchema, { payload: { case: name, value } as never });
}

describe.each(["task", "statusUpdate", "artifactUpdate"] as const)("the id of a %s", (name) => {
  it("the id of an event is added to the metadata and removed again, which changes nothing else", () => {
    for (const before of [event(name), event(name, { a: "b" })]) {
      const copy = structuredClone(before);
      const response = withEventId(before, "t.i.1");
      expect(readEventId(response)).toBe("t.i.1");
      expect(before).toEqual(copy);
      expect(withoutEventId(response)).toEqual(copy);
    }
  });

  it("the id of an event is undefined if there is none, or if its place holds something else", () => {
    const bare = event(name, { a: "b" });
    expect(readEventId(bare)).toBeUndefined();
    expect(withoutEventId(bare)).toBe(bare);
    expect(readEventId(event(name, { [resumeExtension]: 7 as never }))).toBeUndefined();
  });
});

it("a message carries no event id", () => {
  const message = create(StreamResponseSchema, { payload: { case: "message", value: { messageId: "m" } } });
  expect(withEventId(message, "t.i.1")).toBe(message);
  expect(readEventId(message)).toBeUndefined();
});
