import { monotonic } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import type { Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { exceedsShare, ownerKey } from "../protocol/fair-share.js";
import type { AbortKind } from "./agent.js";
import type { CoreLimits } from "./limits.js";
import type { Clock } from "./ports.js";

// The memory of the tasks that turns run, counted by owner over all agents of a process.
//
// A turn counts the size of its task, and what of it is on its way to the store. An owner may take half of what others
// leave of `runningMaxBytes`. Over that share:
//
// - Its turns wait where they emit. Each is asked again before its next event, so that only one event can be too many.
// - One turn of the process goes on: it has the reserve, and counts towards no share as long as it has it. It ends, gives
//   back what it took, and the reserve goes to the next owner that waits. So an owner whose turns are many but end is served
//   in the end, and owners below their share never wait: the shares of any number of owners leave room for one more.
// - If none of its turns ends for `runningWaitMs`, its largest turns do, until the owner has half of its share, so that a
//   turn that waits never waits for one that waits too.
//
// A message, wake or take-over that would load a task of such an owner is refused: it can come again.
//
// So running tasks take less than `runningMaxBytes` and one task of `taskMaxBytes`, besides one event for each owner.

/** A turn whose task is counted. */
interface CountedTurn {
  readonly scope: Scope;
  abort(kind: AbortKind): void;
}

/** What an owner's running tasks take. */
interface OwnerMemory {
  readonly key: string;
  bytes: number;
  readonly turns: Set<TurnMemory>;
  /** Its turns that wait, the first one first, with their wake-ups. */
  readonly waiting: Map<TurnMemory, () => void>;
  /** Ends the time in which one of its turns has to end. */
  stopTimer: () => void;
}

/** The memory of the running tasks of a process. */
export class RunningMemory {
  readonly #clock: Clock;
  readonly #maxBytes: number;
  readonly #waitMs: number;
  readonly #owners = new Map<string, OwnerMemory>();
  /** Owners with turns that wait, in round-robin order: the next one comes first. */
  readonly #waiting = new Set<OwnerMemory>();
  #bytes = 0;
  /** The turn that goes on beyond its owner's share, and since when. */
  #reserve: { readonly turn: TurnMemory; readonly since: number } | undefined;

  constructor(clock: Clock, { runningMaxBytes, runningWaitMs }: Pick<CoreLimits, "runningMaxBytes" | "runningWaitMs">) {
    this.#clock = clock;
    this.#maxBytes = runningMaxBytes;
    this.#waitMs = runningWaitMs;
  }

  /** What all running tasks take. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Turns that wait for memory. */
  get waitingTurns(): number {
    let count = 0;
    for (const { waiting } of this.#waiting) count += waiting.size;
    return count;
  }

  /** Whether a turn may have to wait. While less than half is taken, no owner can have more than its share. */
  get isTight(): boolean {
    return this.#bytes * 2 > this.#maxBytes || this.#waiting.size > 0;
  }

  /** Why a turn was ended. */
  get refusal(): string {
    return `the running tasks of this caller take too much memory: the limit is half of what others leave of ${this.#maxBytes} bytes (runningMaxBytes)`;
  }

  /** Throws `resourceExhausted` for an owner with more than its share, before a task of any size is loaded for a turn. */
  check(scope: Scope): void {
    if (!this.isTight) return;
    const owner = this.#owners.get(ownerKey(scope));
    if (owner === undefined || !this.#exceedsShare(owner)) return;
    // What is refused waits as well, though none of its turns may.
    if (owner.stopTimer === noop) this.#startTimer(owner);
    throw new A2AError("resourceExhausted", this.refusal, {
      retryAfterMs: 1000,
      metadata: { limit: "runningMaxBytes" },
    });
  }

  /** Counts a turn that has a task from now on. Release it when the turn has ended. */
  open(turn: CountedTurn): TurnMemory {
    const key = ownerKey(turn.scope);
    let owner = this.#owners.get(key);
    if (owner === undefined) {
      owner = { key, bytes: 0, turns: new Set(), waiting: new Map(), stopTimer: noop };
      this.#owners.set(key, owner);
    }
    const memory = new TurnMemory(this, owner, turn);
    owner.turns.add(memory);
    return memory;
  }

  /** Counts what the task of a turn takes more, or less. */
  count(owner: OwnerMemory, bytes: number): void {
    owner.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Lets a turn go on after its owner's tasks have shrunk: records that waited for the store are counted no more. */
  afterShrinking(owner: OwnerMemory): void {
    if (owner.waiting.size > 0 && !this.#exceedsShare(owner)) this.#wakeNext(owner);
  }

  /** `undefined` when a turn may go on, else a promise that resolves when it is to ask again. */
  room(memory: TurnMemory): Promise<void> | undefined {
    const { owner } = memory;
    if (memory.isEnding) return undefined;
    if (!this.#exceedsShare(owner)) {
      this.#wakeNext(owner);
      return undefined;
    }
    this.#reserve ??= { turn: memory, since: monotonic(this.#clock) };
    if (this.#reserve.turn === memory) return undefined;
    return new Promise((resolve) => {
      if (owner.waiting.size === 0) {
        this.#waiting.add(owner);
        this.#startTimer(owner);
      }
      owner.waiting.set(memory, resolve);
    });
  }

  /** Gives back the memory of a turn that has ended. */
  close(memory: TurnMemory): void {
    const { owner } = memory;
    this.count(owner, -memory.bytes);
    owner.turns.delete(memory);
    this.#leaveQueue(memory);
    if (owner.turns.size === 0) this.#owners.delete(owner.key);
    this.#stopTimer(owner);
    if (owner.waiting.size > 0) this.#startTimer(owner);
    if (this.#reserve?.turn === memory) this.#passReserve();
    for (const each of [...this.#waiting]) if (!this.#exceedsShare(each)) this.#wakeNext(each);
  }

  // The turn with the reserve counts for nobody.
  #exceedsShare(owner: OwnerMemory): boolean {
    const { turn } = this.#reserve ?? {};
    const reserved = turn?.bytes ?? 0;
    const own = owner.bytes - (turn?.owner === owner ? reserved : 0);
    return exceedsShare(own, this.#bytes - reserved, this.#maxBytes);
  }

  // The one that is woken asks again, and wakes the next one when it may go on.
  #wakeNext(owner: OwnerMemory): void {
    const [first] = owner.waiting;
    if (first === undefined) return;
    const [memory, wake] = first;
    this.#leaveQueue(memory);
    wake();
  }

  #leaveQueue(memory: TurnMemory): void {
    const { owner } = memory;
    if (!owner.waiting.delete(memory) || owner.waiting.size > 0) return;
    this.#waiting.delete(owner);
    this.#stopTimer(owner);
  }

  #passReserve(): void {
    this.#reserve = undefined;
    const [owner] = this.#waiting;
    if (owner === undefined) return;
    this.#waiting.delete(owner);
    this.#waiting.add(owner);
    const [turn] = owner.waiting.keys();
    if (turn !== undefined) this.#reserve = { turn, since: monotonic(this.#clock) };
    this.#wakeNext(owner);
  }

  #startTimer(owner: OwnerMemory): void {
    this.#stopTimer(owner);
    owner.stopTimer = this.#clock.after(this.#waitMs, () => this.#makeRoom(owner));
  }

  #stopTimer(owner: OwnerMemory): void {
    owner.stopTimer();
    owner.stopTimer = noop;
  }

  // None of the owner's turns has ended for so long.
  #makeRoom(owner: OwnerMemory): void {
    owner.stopTimer = noop;
    if (owner.waiting.size > 0) this.#startTimer(owner);
    const { since = Number.POSITIVE_INFINITY } = this.#reserve ?? {};
    if (monotonic(this.#clock) - since >= this.#waitMs) this.#passReserve();
    if (!this.#exceedsShare(owner)) return this.#wakeNext(owner);
    const reserve = this.#reserve?.turn;
    // What is ending has not given back its memory yet, but will.
    const turns = [...owner.turns].filter((turn) => turn !== reserve && !turn.isEnding);
    let own = turns.reduce((sum, { bytes }) => sum + bytes, 0);
    const others = this.#bytes - owner.bytes - (reserve === undefined || reserve.owner === owner ? 0 : reserve.bytes);
    const share = (this.#maxBytes - others) / 2;
    for (const turn of turns.toSorted((a, b) => b.bytes - a.bytes)) {
      if (own <= share / 2) return;
      own -= turn.bytes;
      this.#leaveQueue(turn);
      turn.end();
    }
  }
}

/** What the task of one turn takes. */
export class TurnMemory {
  readonly owner: OwnerMemory;
  readonly #memory: RunningMemory;
  readonly #turn: CountedTurn;
  bytes = 0;
  /** Whether the turn was ended to make room. It no longer waits. */
  isEnding = false;
  #isClosed = false;

  constructor(memory: RunningMemory, owner: OwnerMemory, turn: CountedTurn) {
    this.#memory = memory;
    this.owner = owner;
    this.#turn = turn;
  }

  /** Counts what the task takes more, or less. */
  add(bytes: number): void {
    if (this.#isClosed) return;
    this.bytes += bytes;
    this.#memory.count(this.owner, bytes);
    if (bytes < 0) this.#memory.afterShrinking(this.owner);
  }

  /** As `RunningMemory` says. */
  room(): Promise<void> | undefined {
    return this.#memory.room(this);
  }

  /** Aborts the turn to make room. */
  end(): void {
    this.isEnding = true;
    this.#turn.abort("ResourceExhausted");
  }

  /** The turn has ended. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#memory.close(this);
  }
}
