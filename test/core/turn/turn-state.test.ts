import { describe, expect, it } from "vitest";
import { TurnState } from "../../../src/core/turn/turn-state.js";

const park = { wakeAt: undefined };

const outputs: Readonly<Record<string, (state: TurnState) => void>> = {
  silent: () => undefined,
  speaking: (state) => state.emitEvent(),
  stopped: (state) => state.emitStatus(true),
  parked: (state) => state.park(park),
  answered: (state) => state.answer(),
};

const transitions: Readonly<Record<string, (state: TurnState) => void>> = {
  emitEvent: (state) => state.emitEvent(),
  takeMessage: (state) => state.takeMessage(),
  "status that stops": (state) => state.emitStatus(true),
  "status that does not": (state) => state.emitStatus(false),
  park: (state) => state.park(park),
  answer: (state) => state.answer(),
};

function nextOf(from: string, transition: string, isEnding = false): string {
  const state = new TurnState();
  outputs[from]?.(state);
  if (isEnding) state.end();
  try {
    transitions[transition]?.(state);
  } catch (error) {
    return error instanceof TypeError ? error.message : "another error";
  }
  return state.output.name;
}

describe("the output of a turn", () => {
  it.each([
    ["silent", ["speaking", "speaking", "stopped", "speaking", "parked", "answered"]],
    ["speaking", ["speaking", "speaking", "stopped", "speaking", "parked", "answered"]],
    ["stopped", ["stopped", "speaking", "stopped", "speaking", "parked", "answered"]],
  ])("the output of a turn, when %s, follows each transition", (from, expected) => {
    expect(Object.keys(transitions).map((transition) => nextOf(from, transition))).toEqual(expected);
  });

  it.each(["parked", "answered"])(
    "the output of a turn, when %s, refuses everything but a message that was being taken",
    (from) => {
      const refused = (transition: string): string => `invalid transition of a turn: ${transition} while ${from}`;
      expect(Object.keys(transitions).map((transition) => nextOf(from, transition))).toEqual([
        refused("emitEvent"),
        from,
        refused("emitStatus"),
        refused("emitStatus"),
        refused("park"),
        refused("answer"),
      ]);
    },
  );

  it("the output of a turn lets only the end of a parked turn answer", () => {
    expect(nextOf("parked", "answer", true)).toBe("answered");
    expect(nextOf("answered", "answer", true)).toBe("invalid transition of a turn: answer while answered");
  });
});

describe("the phase of a turn", () => {
  it("the phase of a turn delivers the reason of an abort once, and on every request while the turn ends", () => {
    const state = new TurnState();
    expect(state.takeAbortReason()).toBeUndefined();
    const reason = state.abort("Canceled");
    expect([state.takeAbortReason(), state.takeAbortReason()]).toEqual([reason, undefined]);
    state.end();
    expect([state.takeAbortReason(), state.takeAbortReason()]).toEqual([reason, reason]);
  });

  it("the phase of a turn ends without a reason when it was not aborted", () => {
    const state = new TurnState();
    state.end();
    expect([state.phase, state.takeAbortReason()]).toEqual([{ name: "ending", reason: undefined }, undefined]);
  });

  it("the phase of a turn is neither aborted nor ended twice", () => {
    const state = new TurnState();
    state.abort("Canceled");
    expect(() => state.abort("Draining")).toThrow("invalid transition of a turn: abort while aborting");
    state.end();
    expect(() => state.abort("Draining")).toThrow("invalid transition of a turn: abort while ending");
    expect(() => state.end()).toThrow("invalid transition of a turn: end while ending");
  });
});
