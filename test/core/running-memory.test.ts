import { describe, expect, it } from "vitest";
import type { AbortKind } from "../../src/core/agent.js";
import { RunningMemory, type TurnMemory } from "../../src/core/running-memory.js";
import { tries } from "../support/tries.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { createRandom, type Random } from "./simulator/random.js";

const waitMs = 30_000;

function createMemory(runningMaxBytes = 1000) {
  const clock = createVirtualClock();
  const memory = new RunningMemory(clock, { runningMaxBytes, runningWaitMs: waitMs });
  const ended: TurnMemory[] = [];
  const open = (owner: string, bytes = 0): TurnMemory => {
    const turn: TurnMemory = memory.open({
      scope: { agent: "", tenant: "", owner },
      abort: (_kind: AbortKind) => ended.push(turn),
    });
    turn.add(bytes);
    return turn;
  };
  return { clock, memory, open, ended };
}

/** Whether a turn may go on, now or after a wake-up. */
function follow(turn: TurnMemory) {
  const state = { goesOn: false };
  const ask = (): void => {
    const room = turn.waitForMemory();
    if (room === undefined) state.goesOn = true;
    else void room.then(ask);
  };
  ask();
  return state;
}

const turnOver = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the memory of running tasks", () => {
  it("no turn waits while its owner has its share of memory, which is half of what others leave", () => {
    const { open } = createMemory();
    const alice = open("alice", 500);
    expect(alice.waitForMemory()).toBeUndefined();
    const bob = open("bob", 250);
    expect(bob.waitForMemory()).toBeUndefined();
    expect(open("carol", 125).waitForMemory()).toBeUndefined();
  });

  it("one turn goes on beyond its owner's share of memory, and the next one when it has ended", async () => {
    const { memory, open } = createMemory();
    const turns = [open("alice", 300), open("alice", 300), open("alice", 300), open("alice", 300)];
    const states = turns.map(follow);
    const goOn = (): readonly boolean[] => states.map(({ goesOn }) => goesOn);
    expect(goOn()).toEqual([true, false, false, false]);
    expect(memory.waitingTurns).toBe(3);
    turns[0]?.add(5000);
    expect(turns[0]?.waitForMemory()).toBeUndefined();
    turns[0]?.close();
    await turnOver();
    expect(goOn()).toEqual([true, true, false, false]);
    turns[1]?.close();
    await turnOver();
    expect(goOn()).toEqual([true, true, true, true]);
    turns[2]?.close();
    turns[3]?.close();
    expect([memory.bytes, memory.waitingTurns, memory.isTight]).toEqual([0, 0, false]);
  });

  it("turns of others go on while an owner has more memory than its share", () => {
    const { open } = createMemory();
    for (let index = 0; index < 60; index++) follow(open("greedy", 10));
    for (const owner of ["alice", "bob", "carol"]) expect(open(owner, 20).waitForMemory()).toBeUndefined();
  });

  it("the memory of running tasks gives the reserve to owners in turn", async () => {
    const { open } = createMemory(100);
    const first = open("alice", 90);
    const order: string[] = [];
    const wait = (owner: string): void => {
      const turn = open(owner, 90);
      void turn.waitForMemory()?.then(() => {
        order.push(owner);
        turn.close();
      });
    };
    expect(first.waitForMemory()).toBeUndefined();
    for (const owner of ["alice", "alice", "bob", "bob"]) wait(owner);
    first.close();
    await turnOver();
    expect(order).toEqual(["alice", "bob", "alice", "bob"]);
  });

  it("a turn that asks for memory again waits once, and is forgotten when it has ended", async () => {
    const { clock, memory, open } = createMemory();
    const [first, second] = [open("alice", 600), open("alice", 600)];
    expect(first.waitForMemory()).toBeUndefined();
    void second.waitForMemory();
    let isWoken = false;
    const again = second.waitForMemory()?.then(() => {
      isWoken = true;
    });
    expect(memory.waitingTurns).toBe(1);
    second.close();
    expect([memory.waitingTurns, clock.pending()]).toEqual([0, []]);
    const third = open("alice", 600);
    const wait = third.waitForMemory();
    first.close();
    await wait;
    expect(isWoken).toBe(false);
    expect(again).toBeInstanceOf(Promise);
    third.close();
    expect([memory.bytes, memory.waitingTurns, clock.pending()]).toEqual([0, 0, []]);
  });

  it("the largest turns of an owner end when none has ended in time, until it has half of its share", async () => {
    const { clock, open, ended } = createMemory();
    const waiting = open("bob", 40);
    const reserved = open("alice", 10);
    const turns = [100, 300, 200, 50].map((bytes) => open("alice", bytes));
    for (const turn of [reserved, ...turns]) follow(turn);
    expect(waiting.waitForMemory()).toBeUndefined();
    await clock.advance(waitMs - 1);
    expect(ended).toEqual([]);
    await clock.advance(1);
    // The first of those that wait has the reserve from now on.
    expect(ended.map(({ bytes }) => bytes)).toEqual([300, 200]);
    for (const turn of ended) turn.close();
    await turnOver();
    expect(turns.filter((turn) => !ended.includes(turn)).map((turn) => turn.waitForMemory())).toEqual([
      undefined,
      undefined,
    ]);
  });

  it("a turn goes on when what its owner's tasks have written is stored", async () => {
    const { open } = createMemory();
    const [, writing, waiting] = [open("alice", 100), open("alice", 600), open("alice", 100)];
    const reserved = follow(open("alice", 10));
    const state = follow(waiting);
    expect([reserved.goesOn, state.goesOn]).toEqual([true, false]);
    writing.add(-400);
    await turnOver();
    expect(state.goesOn).toBe(true);
  });

  it("an owner with more memory than its share may not load another task, until room is made in time", async () => {
    const { clock, memory, open, ended } = createMemory();
    open("alice", 200);
    const large = open("alice", 600);
    const load = (owner: string) => () => memory.check({ agent: "", tenant: "", owner });
    expect(load("bob")).not.toThrow();
    expect(load("alice")).toThrow(
      expect.objectContaining({ code: "resourceExhausted", metadata: { limit: "runningMaxBytes" } }),
    );
    await clock.advance(waitMs);
    expect(ended).toEqual([large]);
    large.close();
    expect(load("alice")).not.toThrow();
    expect(clock.pending()).toEqual([]);
  });

  it("a turn that was ended for memory may write its end, and nothing of it counts afterwards", async () => {
    const { clock, memory, open, ended } = createMemory();
    const turns = [open("alice", 700), open("alice", 600)];
    turns.forEach(follow);
    await clock.advance(waitMs);
    const [first] = ended;
    first?.add(10);
    expect(first?.waitForMemory()).toBeUndefined();
    for (const turn of turns) {
      turn.close();
      turn.add(100);
      turn.close();
    }
    expect(memory.bytes).toBe(0);
    expect(clock.pending()).toEqual([]);
  });
});

/** What a turn writes: one piece after another. */
async function writePieces(turn: TurnMemory, random: Random, pieces: number, onWrite: () => void): Promise<void> {
  for (let piece = 0; piece < pieces && !turn.isEnding; piece++) {
    for (let room = turn.waitForMemory(); room !== undefined; room = turn.waitForMemory()) await room;
    turn.add(random.int(1, 20));
    onWrite();
    if (random.chance(0.3)) await turnOver();
  }
  turn.close();
}

describe("whatever turns write", () => {
  it.each(Array.from({ length: tries(50, 2000) }, (_, index) => index + 1))(
    "turns end, memory stays below the limit and one task, and nothing is left, whatever turns write (seed %i)",
    async (seed) => {
      const random = createRandom(seed);
      const maxBytes = 1000;
      const { clock, memory, open, ended } = createMemory(maxBytes);
      const ownerCount = random.int(1, 6);
      let most = 0;
      const taskMaxBytes = 20 * 20;
      const turns = Array.from({ length: random.int(1, 60) }, () =>
        writePieces(open(`owner ${random.int(1, ownerCount)}`), random, random.int(1, 20), () => {
          most = Math.max(most, memory.bytes);
        }),
      );
      await Promise.all(turns);
      // A piece for each owner may be too much, since none is measured before it is asked for.
      expect(most).toBeLessThanOrEqual(maxBytes + taskMaxBytes + 20 * ownerCount);
      expect([memory.bytes, memory.waitingTurns, ended.length, clock.pending()]).toEqual([0, 0, 0, []]);
    },
  );
});
