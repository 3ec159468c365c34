import { createIdleCounter } from "../protocol/async/idle-counter.js";
import { noop } from "../protocol/async/noop.js";
import type { Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { FairQueue } from "../protocol/fair-queue.js";
import { ownerKey } from "../protocol/fair-share.js";
import { type Slot, Slots } from "../protocol/slots.js";
import type { AbortKind } from "./agent.js";
import type { CoreLimits } from "./limits.js";
import type { Clock } from "./ports.js";
import type { Overload, ProcessLoad } from "./process-load.js";
import type { RunningMemory } from "./running-memory.js";

// Slots of turns: how many turns run, for whom, and which sends wait until one may start.
//
// A turn holds one slot of each limit that it counts against: of its owner at its agent, of its agent, of the process, and
// of the limits of callers (`rate`), which hold over all agents of the process. `TurnSlots` has the first two, `ProcessSlots`
// the others. Both ends of a slot are in one place, `#take` and `#free`.
//
// A send passes these states:
//
// - It may start: there is a free slot of each limit, and no send of its owner waits. It takes none, because nothing may
//   come between `waitForRoom` and the start of its turn.
// - It waits, in a queue that is fair to owners, for up to `turnWaitMs`. Each slot that is freed is offered to the agent's
//   own queue. Where the process was full, or a slot of a caller is freed, it is offered to the queues of the other agents
//   first, one after another. A send that gets a slot holds it until its turn, which takes its own, has begun.
// - It is refused: its time is over, the queue is full, or the agent drains.
//
// For that moment one turn counts twice. No call sees it, since nothing is awaited in between. A send could hand its slot on
// instead, but only through `TurnStart` and every way to a turn, with somebody to free it on each way that starts none.
//
// A wake or a take-over never waits: `within` gives it a slot at once or refuses it, and holds the slot until its turn, if
// one starts, has begun.
//
// A shutdown waits until no turn runs and nothing holds it up. `holdShutdown` announces what may start a turn, so that a
// shutdown between a message and its turn does not end the turn at once. An agent that is replaced keeps its slots: turns
// of all its releases are counted together, by the limits of the latest.
//
// In an overload of the process, the shares of owners in the running turns decide whose sends are refused first.

/** A turn that is to start: whose it is, and the slots that it takes besides. */
interface StartingTurn {
  readonly scope: Scope;
  readonly slots?: readonly Slot[] | undefined;
}

/** A running turn. */
interface RunningTurn {
  readonly start: StartingTurn;
  /** Size of its task. */
  readonly bytes: number;
  abort(kind: AbortKind): void;
  /** Aborts the turn if it waits for its caller, so that its task can wait without a process. */
  releaseWaiting(): void;
  /** Its inbox, for figures. */
  readonly inbox: { readonly isWaiting: boolean; readonly messages: number };
}

/** The limits of one agent's turns. */
type AgentTurnLimits = Pick<CoreLimits, "turnsPerOwner" | "turnsPerProcess" | "turnWaitMs" | "turnWaitMaxBytes">;

/** The slots of one turn, until they are freed. */
interface TakenSlots {
  readonly owner: string;
  readonly ofCallers: readonly Slot[];
  isTaken: boolean;
}

/** A send that waits for its turn. */
interface WaitingSend {
  readonly owner: string;
  readonly turn: StartingTurn;
  /** `free`: frees the slots of the send. */
  readonly start: (free: () => void) => void;
  readonly refuse: (error: A2AError) => void;
  stopTimer: () => void;
}

const noSlots: readonly Slot[] = [];

/** The slots of one agent's turns. */
export class TurnSlots {
  readonly #process: ProcessSlots;
  readonly #clock: Clock;
  /** `turnsPerProcess` among them is the agent's own. */
  #limits: AgentTurnLimits;
  readonly #running = new Map<RunningTurn, TakenSlots>();
  readonly #waiting = new FairQueue<WaitingSend>(() => ({
    perKey: this.#limits.turnsPerOwner,
    maxBytes: this.#limits.turnWaitMaxBytes,
  }));
  /** Running turns, and what may start one. */
  readonly #activity = createIdleCounter();
  readonly #ofOwners = new Map<string, number>();
  #taken = 0;
  #isDraining = false;
  #isReleasing = false;
  #isClosed = false;

  constructor(process: ProcessSlots, limits: AgentTurnLimits, clock: Clock) {
    this.#process = process;
    this.#limits = limits;
    this.#clock = clock;
    process.join(this);
  }

  /** The turns that run. */
  get running(): Iterable<RunningTurn> {
    return this.#running.keys();
  }

  /** Sends that wait for room. */
  get queued(): number {
    return this.#waiting.size;
  }

  /** Whether no turn of any owner may start now. */
  get isFull(): boolean {
    return this.#process.isFull || this.#taken >= this.#limits.turnsPerProcess;
  }

  /** Whether turns that begin to wait for their callers have to let go. */
  get isReleasing(): boolean {
    return this.#isReleasing;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isIdle(): boolean {
    return this.#activity.count === 0;
  }

  /** Resolves when no turn runs and nothing holds up a shutdown. */
  idle(): Promise<void> {
    return this.#activity.idle();
  }

  /** Holds up a shutdown, because a turn may start, until the returned function is called. */
  holdShutdown(): () => void {
    return this.#activity.enter();
  }

  /** Throws `unavailable` when the process is overloaded, first for owners who hold more than their share. */
  checkLoad(scope: Scope): void {
    this.#process.shares.check(scope);
  }

  /**
   * Runs `start`, which may start a turn, in the room of one turn. Rejects with `resourceExhausted` or `unavailable` when
   * no turn may start now.
   */
  async within<T>(scope: Scope, start: () => Promise<T>): Promise<T> {
    const owner = ownerKey(scope);
    const error = this.#refusal({ scope }, owner);
    if (error !== undefined) throw error;
    this.#process.shares.check(scope);
    this.#process.memory.check(scope);
    const taken = this.#take({ scope }, owner);
    try {
      return await start();
    } finally {
      // A turn that has started has slots of its own.
      this.#free(taken);
    }
  }

  /**
   * Reserves room for the turn of a send. `undefined` if there is room; else a promise that resolves when other turns
   * have ended, with a function that releases the room once the turn has begun or will not begin. After `turnWaitMs` it
   * rejects with the errors of `within`, and at once when what waits takes too many bytes. `bytes`: the size of the send.
   */
  waitForRoom(turn: StartingTurn, bytes: number): Promise<() => void> | undefined {
    const owner = ownerKey(turn.scope);
    const error = this.#refusal(turn, owner);
    if (error === undefined && this.#waiting.count(owner) === 0) return undefined;
    if (this.#isDraining) throw shuttingDown();
    return new Promise((start, refuse) => {
      const { turnWaitMs } = this.#limits;
      const send: WaitingSend = { owner, turn, start, refuse, stopTimer: noop };
      const queued = turnWaitMs === 0 ? undefined : this.#waiting.add(owner, send, bytes);
      if (queued === undefined) return refuse(error ?? this.#overOwner());
      send.stopTimer = this.#clock.after(turnWaitMs, () => {
        this.#waiting.cancel(queued);
        refuse(this.#refusal(turn, owner) ?? this.#overOwner());
      });
    });
  }

  /** Counts a turn that runs from now on. */
  enter(turn: RunningTurn): void {
    this.#activity.begin();
    this.#running.set(turn, this.#take(turn.start, ownerKey(turn.start.scope)));
    this.#process.shares.enter(turn);
    if (this.#isDraining) turn.abort("Draining");
  }

  /** Counts the end of a turn. */
  leave(turn: RunningTurn): void {
    const taken = this.#running.get(turn);
    if (taken === undefined) return;
    this.#running.delete(turn);
    this.#process.shares.leave(turn);
    this.#free(taken);
    this.#activity.end();
  }

  /** Starts the sends that wait and have room now. */
  startWaiting(): void {
    const mayStart = ({ turn, owner }: WaitingSend): boolean => this.#refusal(turn, owner) === undefined;
    for (let send = this.#waiting.take(mayStart); send !== undefined; send = this.#waiting.take(mayStart)) {
      const taken = this.#take(send.turn, send.owner);
      send.stopTimer();
      send.start(() => this.#free(taken));
    }
  }

  /** Holds turns to other limits from now on. */
  limit(limits: AgentTurnLimits): void {
    this.#limits = limits;
    this.startWaiting();
  }

  /** Releases all turns that wait for their callers, now and from now on. */
  releaseWaiting(): void {
    this.#isReleasing = true;
    for (const turn of [...this.#running.keys()]) turn.releaseWaiting();
  }

  /** Refuses what waits. Aborts all turns, and every turn that starts from now on. */
  drain(): void {
    this.#isDraining = true;
    for (let send = this.#waiting.take(); send !== undefined; send = this.#waiting.take()) {
      send.stopTimer();
      send.refuse(shuttingDown());
    }
    for (const turn of [...this.#running.keys()]) turn.abort("Draining");
  }

  /** Waits for no more room in the process. From now on no turn may start. */
  close(): void {
    this.#isClosed = true;
    this.#process.leave(this);
  }

  // Why a turn may not start now; `undefined` when it may.
  #refusal({ slots = noSlots }: StartingTurn, owner: string): A2AError | undefined {
    const { turnsPerProcess, turnsPerOwner } = this.#limits;
    if (this.#isDraining) return shuttingDown();
    if (this.#process.isFull) return overProcess(this.#process.max);
    if (this.#taken >= turnsPerProcess) return overAgent(turnsPerProcess);
    if ((this.#ofOwners.get(owner) ?? 0) >= turnsPerOwner) return this.#overOwner();
    return this.#process.refusal(slots);
  }

  #take({ slots = noSlots }: StartingTurn, owner: string): TakenSlots {
    this.#ofOwners.set(owner, (this.#ofOwners.get(owner) ?? 0) + 1);
    this.#taken += 1;
    this.#process.take(slots);
    return { owner, ofCallers: slots, isTaken: true };
  }

  #free(taken: TakenSlots): void {
    if (!taken.isTaken) return;
    taken.isTaken = false;
    const { owner, ofCallers } = taken;
    const left = (this.#ofOwners.get(owner) ?? 0) - 1;
    if (left === 0) this.#ofOwners.delete(owner);
    else this.#ofOwners.set(owner, left);
    this.#taken -= 1;
    this.#process.free(ofCallers);
    this.startWaiting();
  }

  #overOwner(): A2AError {
    const { turnsPerOwner: limit } = this.#limits;
    return new A2AError("resourceExhausted", `too many turns of this caller: the limit is ${limit} (turnsPerOwner)`, {
      retryAfterMs,
      metadata: { limit: "turnsPerOwner" },
    });
  }
}

/** The slots of the turns of a process, which all its agents share. */
export class ProcessSlots {
  /** Limit of turns (`turnsPerProcess`). */
  readonly max: number;
  /** The memory of the turns' tasks. */
  readonly memory: RunningMemory;
  /** The shares of owners in the running turns. */
  readonly shares: OverloadShares;
  /** In the order in which they are offered a free slot. */
  readonly #agents = new Set<TurnSlots>();
  readonly #ofCallers = new Slots();
  #taken = 0;

  constructor(
    { turnsPerProcess }: Pick<CoreLimits, "turnsPerProcess">,
    memory: RunningMemory,
    load: ProcessLoad | undefined,
  ) {
    this.max = turnsPerProcess;
    this.memory = memory;
    this.shares = new OverloadShares(load, () => this.#running());
  }

  get isFull(): boolean {
    return this.#taken >= this.max;
  }

  join(agent: TurnSlots): void {
    this.#agents.add(agent);
  }

  leave(agent: TurnSlots): void {
    this.#agents.delete(agent);
  }

  /** Why one of the slots of callers cannot be taken; `undefined` when all can. */
  refusal(ofCallers: readonly Slot[]): A2AError | undefined {
    return this.#ofCallers.refusal(ofCallers);
  }

  take(ofCallers: readonly Slot[]): void {
    this.#ofCallers.take(ofCallers);
    this.#taken += 1;
  }

  free(ofCallers: readonly Slot[]): void {
    this.#ofCallers.free(ofCallers);
    this.#taken -= 1;
    const wasFull = this.#taken === this.max - 1;
    if ((!wasFull && ofCallers.length === 0) || !this.#hasWaiting()) return;
    const [first] = this.#agents;
    if (first === undefined) return;
    // Another agent comes first the next time.
    this.#agents.delete(first);
    this.#agents.add(first);
    for (const agent of [first, ...this.#agents]) {
      if (this.isFull) return;
      agent.startWaiting();
    }
  }

  #hasWaiting(): boolean {
    for (const agent of this.#agents) if (agent.queued > 0) return true;
    return false;
  }

  *#running(): Generator<RunningTurn> {
    for (const agent of this.#agents) yield* agent.running;
  }
}

/** Bytes counted for a turn besides those of its task. */
const turnBytes = 64 << 10;

/** An owner with this much or less is never refused for its share: four small turns have less. */
const leastShare = 5 * turnBytes;

/** The share of an owner's running turns. */
interface Share {
  readonly turns: number;
  readonly bytes: number;
}

const noShare: Share = { turns: 0, bytes: 0 };

/** The shares of owners in the running turns of a process, over all its agents. Counted only during an overload. */
class OverloadShares {
  readonly #load: ProcessLoad | undefined;
  readonly #running: () => Iterable<RunningTurn>;
  /** The overload for which shares were summed. */
  #overload: Overload | undefined;
  #owners: Map<string, Share> | undefined;
  #all = noShare;

  constructor(load: ProcessLoad | undefined, running: () => Iterable<RunningTurn>) {
    this.#load = load;
    this.#running = running;
  }

  /** Counts a turn that begins, which is among the running ones from now on. */
  enter({ start }: RunningTurn): void {
    if (this.#owners !== undefined) this.#count(this.#owners, start.scope, { turns: 1, bytes: 0 });
  }

  /** Counts the end of a turn. */
  leave({ start }: RunningTurn): void {
    if (this.#owners !== undefined) this.#count(this.#owners, start.scope, { turns: -1, bytes: 0 });
  }

  /** Throws for a send that the load refuses: every one, or that of an owner with more than its share. */
  check(scope: Scope): void {
    const overload = this.#load?.overload();
    if (overload === undefined) this.#owners = undefined;
    else if (overload.refuses === "all" || this.#exceeds(overload, ownerKey(scope))) throw overload.refuse();
  }

  // A share is an equal one, for as many owners as have turns and one more.
  #exceeds(overload: Overload, owner: string): boolean {
    const owners = this.#sharesFor(overload);
    const { turns, bytes } = owners.get(owner) ?? noShare;
    const own = bytes + turns * turnBytes;
    return own > leastShare && own > (this.#all.bytes + this.#all.turns * turnBytes) / (owners.size + 1);
  }

  // Sizes are summed once for each measurement, so that a flood of refused sends costs little.
  #sharesFor(overload: Overload): ReadonlyMap<string, Share> {
    if (this.#owners !== undefined && this.#overload === overload) return this.#owners;
    const owners = new Map<string, Share>();
    this.#all = noShare;
    for (const { start, bytes } of this.#running()) this.#count(owners, start.scope, { turns: 1, bytes });
    this.#overload = overload;
    this.#owners = owners;
    return owners;
  }

  // An owner without turns has no share.
  #count(owners: Map<string, Share>, scope: Scope, more: Share): void {
    const key = ownerKey(scope);
    const share = addShares(owners.get(key) ?? noShare, more);
    if (share.turns === 0) owners.delete(key);
    else owners.set(key, share);
    this.#all = addShares(this.#all, more);
  }
}

function addShares(a: Share, b: Share): Share {
  return { turns: a.turns + b.turns, bytes: a.bytes + b.bytes };
}

const retryAfterMs = 1000;

const turnsPerProcess = { retryAfterMs, metadata: { limit: "turnsPerProcess" } };

function overProcess(limit: number): A2AError {
  return new A2AError(
    "unavailable",
    `too many turns in the process: the limit is ${limit} (turnsPerProcess)`,
    turnsPerProcess,
  );
}

function overAgent(limit: number): A2AError {
  return new A2AError(
    "unavailable",
    `too many turns of the agent: the limit is ${limit} (turnsPerProcess)`,
    turnsPerProcess,
  );
}

/** The error for calls during shutdown. */
export function shuttingDown(): A2AError {
  return new A2AError("unavailable", "the server is shutting down", { retryAfterMs });
}
