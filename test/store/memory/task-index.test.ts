import fc from "fast-check";
import { expect, it } from "vitest";
import type { Scope } from "../../../src/protocol/context.js";
import { TaskState } from "../../../src/protocol/model.js";
import { isTerminal } from "../../../src/protocol/states.js";
import { TaskEntry } from "../../../src/store/memory/task-entry.js";
import { TaskIndex } from "../../../src/store/memory/task-index.js";

const states = [TaskState.SUBMITTED, TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.COMPLETED] as const;
const owners = ["alice", "bob"] as const;
const scopeOf = (owner: string): Scope => ({ agent: "", tenant: "", owner });

function newEntry(index: TaskIndex, key: number, owner: string): TaskEntry {
  const [scope, id] = [scopeOf(owner), String(key)];
  const status = { state: TaskState.SUBMITTED, time: key };
  const task = { id, contextId: "c", scope, version: "1.0", status, records: [], bytes: 0 };
  return new TaskEntry({ ...task, holder: "" }, key, "", index.lists(scope, "c"));
}

it("the unfinished tasks of an owner are counted as they change, so that the count reads none of them", () => {
  const step = fc.record({
    act: fc.constantFrom("add", "set", "delete"),
    owner: fc.constantFrom(...owners),
    state: fc.constantFrom(...states),
    pick: fc.nat(),
    later: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const index = new TaskIndex();
      const entries: TaskEntry[] = [];
      for (const [key, { act, owner, state, pick, later }] of steps.entries()) {
        const entry = entries[pick % Math.max(1, entries.length)];
        if (act === "add" || entry === undefined) {
          const added = newEntry(index, key, owner);
          index.add(added);
          entries.push(added);
        } else if (act === "set") index.setStatus(entry, state, entry.statusTime + (later ? 1 : 0));
        else index.delete(entries.splice(entries.indexOf(entry), 1)[0] ?? entry);
      }
      const expected = owners.map(
        (owner) => entries.filter((each) => each.scope.owner === owner && !isTerminal(each.state)).length,
      );
      for (const each of entries) Object.defineProperty(each, "state", { get: () => expect.fail("a task was read") });
      expect(owners.map((owner) => index.unfinished(scopeOf(owner)))).toEqual(expected);
    }),
  );
});
