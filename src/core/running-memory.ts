import { monotonic } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import type { Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { FairQueue, type QueuedItem } from "../protocol/fair-queue.js";
import { exceedsShare, ownerKey } from "../protocol/fair-share.js";
import type { AbortKind } from "./agent.js";
import type { CoreLimits } from "./limits.js";
import type { Clock } from "./ports.js";

// The memory of the tasks that turns run, counted by owner over all agents of a process.
//
// A turn counts the size of its task and of the task's records that are not stored yet. An owner may take half of what
// others leave of `runningMaxBytes`. Over that share:
//
// - Its turns wait where they emit. Each turn is checked again before its next event, so an owner exceeds its share by one
//   event at most.
// - One turn of the process continues: it holds the reserve, and counts towards no share meanwhile. When it ends, its
//   memory is free and the reserve goes to the next waiting owner. So an owner with many turns gets through, if they end.
//   Owners below their share never wait: the shares of any number of owners leave room for one more.
// - If none of its turns ends for `runningWaitMs`, its largest turns are aborted until the owner has half of its share.
//   So waiting turns cannot wait for each other forever.
//
// A message, wake or take-over that would load a task of such an owner is refused. It can be repeated later.
//
// So running tasks take less than `runningMaxBytes` plus one task of `taskMaxBytes` and one event for each owner.

/** A turn whose task is counted. */
interface CountedTurn {
  readonly scope: Scope;
  abort(kind: AbortKind): void;
}

/** The memory of an owner's running tasks. */
interface OwnerMemory {
  readonly key: string;
  bytes: number;
  readonly turns: Set<TurnMemory>;
  /** Stops the timer within which one of its turns has to end. */
  stopTimer: () => void;
}

/** A turn that waits, and the function that wakes it. */
interface WaitingTurn {
  readonly memory: TurnMemory;
  wake: () => void;
}

/** The memory of the running tasks of a process. */
export class RunningMemory {
  readonly #clock: Clock;
  readonly #maxBytes: number;
  readonly #waitMs: number;
  readonly #owners = new Map<string, OwnerMemory>();
  readonly #waiting = new FairQueue<WaitingTurn>();
  #bytes = 0;
  /** The turn that continues beyond its owner's share, and since when. */
  #reserve: { readonly turn: TurnMemory; readonly since: number } | undefined;

  constructor(clock: Clock, { runningMaxBytes, runningWaitMs }: Pick<CoreLimits, "runningMaxBytes" | "runningWaitMs">) {
    this.#clock = clock;
    this.#maxBytes = runningMaxBytes;
    this.#waitMs = runningWaitMs;
  }

  /** Bytes of all running tasks. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of turns that wait for memory. */
  get waitingTurns(): number {
    return this.#waiting.size;
  }

  /** Whether a turn may have to wait. Up to half of the limit, no owner can exceed its share. */
  get isTight(): boolean {
    return this.#bytes * 2 > this.#maxBytes || this.#waiting.size > 0;
  }

  /** Why a turn was ended. */
  get limitText(): string {
    return `the running tasks of this caller take too much memory: the limit is half of what others leave of ${this.#maxBytes} bytes (runningMaxBytes)`;
  }

  /** Throws `resourceExhausted` for an owner over its share. Call it before a task is loaded for a turn. */
  check(scope: Scope): void {
    if (!this.isTight) return;
    const owner = this.#owners.get(ownerKey(scope));
    if (owner === undefined || !this.#exceedsShare(owner)) return;
    // A refused caller waits too, even if none of the owner's turns does.
    if (owner.stopTimer === noop) this.#startTimer(owner);
    throw new A2AError("resourceExhausted", this.limitText, {
      retryAfterMs: 1000,
      metadata: { limit: "runningMaxBytes" },
    });
  }

  /** Counts a turn that has a task from now on. Release it when the turn has ended. */
  open(turn: CountedTurn): TurnMemory {
    const key = ownerKey(turn.scope);
    let owner = this.#owners.get(key);
    if (owner === undefined) {
      owner = { key, bytes: 0, turns: new Set(), stopTimer: noop };
      this.#owners.set(key, owner);
    }
    const memory = new TurnMemory(this, owner, turn);
    owner.turns.add(memory);
    return memory;
  }

  /** Adds to the bytes of an owner, or subtracts from them. */
  count(owner: OwnerMemory, bytes: number): void {
    owner.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Wakes a turn after its owner's tasks have shrunk: stored records no longer count. */
  afterShrinking(owner: OwnerMemory): void {
    if (this.#hasWaiting(owner) && !this.#exceedsShare(owner)) this.#wakeNext(owner);
  }

  /** `undefined` if a turn may continue; otherwise a promise that resolves when it should ask again. */
  waitForMemory(memory: TurnMemory): Promise<void> | undefined {
    const { owner } = memory;
    if (memory.isEnding) return undefined;
    if (!this.#exceedsShare(owner)) {
      this.#wakeNext(owner);
      return undefined;
    }
    this.#reserve ??= { turn: memory, since: monotonic(this.#clock) };
    if (this.#reserve.turn === memory) return undefined;
    return new Promise((wake) => {
      // A turn that was aborted while it waited may ask again: it waits once.
      if (memory.waiting?.isWaiting === true) {
        memory.waiting.item.wake = wake;
        return;
      }
      if (!this.#hasWaiting(owner)) this.#startTimer(owner);
      memory.waiting = this.#waiting.add(owner.key, { memory, wake });
    });
  }

  /** Releases the memory of a turn that has ended. */
  close(memory: TurnMemory): void {
    const { owner } = memory;
    this.count(owner, -memory.bytes);
    owner.turns.delete(memory);
    this.#leaveQueue(memory);
    if (owner.turns.size === 0) this.#owners.delete(owner.key);
    this.#stopTimer(owner);
    if (this.#hasWaiting(owner)) this.#startTimer(owner);
    if (this.#reserve?.turn === memory) this.#passReserve();
    for (const { memory: first } of this.#waiting.firstItems()) {
      if (!this.#exceedsShare(first.owner)) this.#wakeNext(first.owner);
    }
  }

  // The turn with the reserve counts towards no share.
  #exceedsShare(owner: OwnerMemory): boolean {
    const { turn } = this.#reserve ?? {};
    const reserved = turn?.bytes ?? 0;
    const own = owner.bytes - (turn?.owner === owner ? reserved : 0);
    return exceedsShare(own, this.#bytes - reserved, this.#maxBytes);
  }

  // The woken turn asks again, and wakes the next one if it may continue.
  #wakeNext(owner: OwnerMemory): void {
    const next = this.#waiting.first(owner.key);
    if (next === undefined) return;
    this.#leaveQueue(next.memory);
    next.wake();
  }

  #leaveQueue(memory: TurnMemory): void {
    const { owner, waiting } = memory;
    memory.waiting = undefined;
    if (waiting?.isWaiting !== true) return;
    this.#waiting.cancel(waiting);
    if (!this.#hasWaiting(owner)) this.#stopTimer(owner);
  }

  #hasWaiting({ key }: OwnerMemory): boolean {
    return this.#waiting.count(key) > 0;
  }

  #passReserve(): void {
    this.#reserve = undefined;
    const [next] = this.#waiting.firstItems();
    if (next === undefined) return;
    const { memory } = next;
    this.#waiting.endTurn(memory.owner.key);
    this.#reserve = { turn: memory, since: monotonic(this.#clock) };
    this.#wakeNext(memory.owner);
  }

  #startTimer(owner: OwnerMemory): void {
    this.#stopTimer(owner);
    owner.stopTimer = this.#clock.after(this.#waitMs, () => this.#makeRoom(owner));
  }

  #stopTimer(owner: OwnerMemory): void {
    owner.stopTimer();
    owner.stopTimer = noop;
  }

  // None of the owner's turns has ended for `runningWaitMs`.
  #makeRoom(owner: OwnerMemory): void {
    owner.stopTimer = noop;
    if (this.#hasWaiting(owner)) this.#startTimer(owner);
    const { since = Number.POSITIVE_INFINITY } = this.#reserve ?? {};
    if (monotonic(this.#clock) - since >= this.#waitMs) this.#passReserve();
    if (!this.#exceedsShare(owner)) return this.#wakeNext(owner);
    const reserve = this.#reserve?.turn;
    // Turns that are ending still count, but will release their memory.
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

/** The memory of the task of one turn. */
export class TurnMemory {
  readonly owner: OwnerMemory;
  readonly #memory: RunningMemory;
  readonly #turn: CountedTurn;
  bytes = 0;
  /** Whether the turn was ended to make room. It no longer waits. */
  isEnding = false;
  waiting: QueuedItem<WaitingTurn> | undefined;
  #isClosed = false;

  constructor(memory: RunningMemory, owner: OwnerMemory, turn: CountedTurn) {
    this.#memory = memory;
    this.owner = owner;
    this.#turn = turn;
  }

  /** Adds to the bytes of the task, or subtracts from them. */
  add(bytes: number): void {
    if (this.#isClosed) return;
    this.bytes += bytes;
    this.#memory.count(this.owner, bytes);
    if (bytes < 0) this.#memory.afterShrinking(this.owner);
  }

  /** See `RunningMemory.waitForMemory`. */
  waitForMemory(): Promise<void> | undefined {
    return this.#memory.waitForMemory(this);
  }

  /** Aborts the turn to make room. */
  end(): void {
    this.isEnding = true;
    this.#turn.abort("ResourceExhausted");
  }

  /** Call it when the turn has ended. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#memory.close(this);
  }
}
