import { expect, it } from "vitest";
import { attribute, type ProfileNode } from "../../bench/steps/attribution.ts";
import { findStep } from "../../bench/steps/step-table.ts";

it.each([
  ["binding/http/call:parseJson", "parse"],
  ["binding/http/call:readHead", "read the head"],
  ["core/turn/run:#run", "run the agent"],
  ["core/turn-slots:enter", "start a turn"],
  ["core/conversation/log:write", "record"],
  ["node:internal/timers:insert", undefined],
])("the function %s belongs to the step %s", (place, step) => {
  expect(findStep(place)).toBe(step);
});

it("what Node does for a function of ours counts for its step, and garbage collection for itself", () => {
  const frame = (functionName: string, url = "") => ({ functionName, url, lineNumber: 0, columnNumber: 0 });
  const node = (self: number, at: ProfileNode["frame"], ...children: ProfileNode[]): ProfileNode => ({
    frame: at,
    self,
    children,
  });
  const ours = frame("writeReply", "file:///app/src/binding/http/node-reply.ts");
  const write = node(30, frame("writeUtf8String"), node(4, frame("(garbage collector)")));
  const tree = node(10, frame("(root)"), node(20, ours, write));
  expect(Object.fromEntries(attribute(tree, 2).byStep)).toEqual({ Node: 5, write: 25, "garbage collection": 2 });
});
