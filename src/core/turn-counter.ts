import { createIdleCounter } from "../protocol/async/idle-counter.js";
import { createPlaces, type Place } from "../protocol/async/places.js";
import type { Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { ownerKey } from "../protocol/fair-share.js";
import type { AbortKind } from "./agent.js";
import type { CoreLimits } from "./limits.js";
import type { Clock } from "./ports.js";
import { TurnQueue } from "./turn-queue.js";
import type { TurnRoom } from "./turn-room.js";

/** A turn that is to start: whose it is, and the places that it takes besides. */
interface StartingTurn {
  readonly scope: Scope;
  readonly places?: readonly Place[] | undefined;
}

/** A running turn, as the counter sees it. */
interface CountedTurn {
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
type TurnLimits = Pick<CoreLimits, "turnsPerOwner" | "turnsPerProcess" | "turnWaitMs" | "turnWaitMaxBytes">;

/** The running turns of an agent, counted by owner. */
export interface TurnCounter {
  readonly runningTurns: ReadonlyMap<CountedTurn, unknown>;
  /** Sends that wait for room. */
  readonly queued: number;
  /** Whether no turn of any owner may start now. */
  readonly isFull: boolean;
  /**
   * Runs `start`, which may start a turn, in the room of one turn. Rejects with `resourceExhausted` or `unavailable` when
   * no turn may start now.
   */
  within<T>(scope: Scope, start: () => Promise<T>): Promise<T>;
  /** Throws `unavailable` when the process is overloaded, first for owners who hold more than their share. */
  checkLoad(scope: Scope): void;
  /**
   * Reserves room for the turn of a send. `undefined` if there is room; else a promise that resolves when other turns
   * have ended, with a function that releases the room once the turn has begun or will not begin. After `turnWaitMs` it
   * rejects with the errors of `within`, and at once when what waits takes too many bytes. `bytes`: the size of the send.
   */
  room(turn: StartingTurn, bytes: number): Promise<() => void> | undefined;
  /** Announces a turn that may start; it counts as running until the returned function is called. */
  expect(): () => void;
  enter(turn: CountedTurn): void;
  leave(turn: CountedTurn): void;
  /** Lets go of all turns that wait for their callers; `isLettingGo` is for those that begin to wait later. */
  letGo(): void;
  readonly isLettingGo: boolean;
  /** Aborts all turns, and every turn that starts from now on. */
  drain(): void;
  readonly isIdle: boolean;
  /** Resolves when no turn runs and none is expected. */
  idle(): Promise<void>;
  /** Holds turns to other limits from now on. */
  limit(limits: TurnLimits): void;
  /** Waits for no more room in the process. From now on no turn may start. */
  close(): void;
  readonly isClosed: boolean;
}

/** The places of one agent's turns: how many run, for whom, and who waits for one. */
interface TurnPlaces {
  /** Why a turn may not start now. */
  refusal(turn: StartingTurn): A2AError | undefined;
  readonly isFull: boolean;
  occupy(turn: StartingTurn): () => void;
  readonly queue: TurnQueue<StartingTurn>;
  limit(limits: TurnLimits): void;
  close(): void;
}

interface TurnPlacesOptions {
  readonly room: TurnRoom;
  readonly turns: Iterable<CountedTurn>;
  readonly isDraining: () => boolean;
}

const noPlaces: readonly Place[] = [];

function createTurnPlaces(first: TurnLimits, clock: Clock, { room, turns, isDraining }: TurnPlacesOptions): TurnPlaces {
  const places = createPlaces();
  let limits = first;
  let total = 0;
  const overOwn = (): A2AError => overOwner(limits.turnsPerOwner);
  const placesOf = ({ scope }: StartingTurn): readonly Place[] => [
    { key: ownerKey(scope), max: limits.turnsPerOwner, refusal: overOwn },
  ];
  const refusal = (turn: StartingTurn): A2AError | undefined => {
    const { turnsPerProcess } = limits;
    if (isDraining()) return shuttingDown();
    if (room.isFull) return overProcess(room.max);
    if (total >= turnsPerProcess) return overAgent(turnsPerProcess);
    return places.refusal(placesOf(turn)) ?? room.places.refusal(turn.places ?? noPlaces);
  };
  const queue = new TurnQueue<StartingTurn>({ clock, limits: () => limits, refusal });
  const occupy = (turn: StartingTurn): (() => void) => {
    const ownPlaces = placesOf(turn);
    const { places: more = noPlaces } = turn;
    places.take(ownPlaces);
    room.take(more);
    total += 1;
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      total -= 1;
      places.leave(ownPlaces);
      room.leave(more);
      queue.grant(occupy);
    };
  };
  const grant = (): void => queue.grant(occupy);
  const close = room.join({ turns, onRoom: grant });
  const limit = (next: TurnLimits): void => {
    limits = next;
    grant();
  };
  return {
    refusal,
    get isFull() {
      return room.isFull || total >= limits.turnsPerProcess;
    },
    occupy,
    queue,
    limit,
    close,
  };
}

/** `turnsPerProcess` among the limits is the agent's own, the room has that of the process. */
export function createTurnCounter(first: TurnLimits, clock: Clock, room: TurnRoom): TurnCounter {
  const runningTurns = new Map<CountedTurn, () => void>();
  const activity = createIdleCounter();
  let draining = false;
  let lettingGo = false;
  let closed = false;
  const turns = { [Symbol.iterator]: () => runningTurns.keys() };
  const places = createTurnPlaces(first, clock, { room, turns, isDraining: () => draining });
  const { refusal, occupy, queue } = places;

  return {
    runningTurns,
    get queued() {
      return queue.size;
    },
    get isFull() {
      return places.isFull;
    },
    async within(scope, start) {
      const error = refusal({ scope });
      if (error !== undefined) throw error;
      room.shares.check(scope);
      room.memory.check(scope);
      const leave = occupy({ scope });
      try {
        return await start();
      } finally {
        // A turn that has started counts itself.
        leave();
      }
    },
    checkLoad: (scope) => room.shares.check(scope),
    room(turn, bytes) {
      const key = ownerKey(turn.scope);
      if (refusal(turn) === undefined && !queue.holds(key)) return undefined;
      if (draining) throw shuttingDown();
      return queue.wait(key, turn, bytes);
    },
    expect: activity.enter,
    enter(turn) {
      const [idle, free] = [activity.enter(), occupy(turn.start)];
      runningTurns.set(turn, () => {
        free();
        idle();
      });
      room.shares.enter(turn);
      if (draining) turn.abort("Draining");
    },
    leave(turn) {
      const release = runningTurns.get(turn);
      if (release === undefined) return;
      runningTurns.delete(turn);
      room.shares.leave(turn);
      release();
    },
    letGo() {
      lettingGo = true;
      for (const turn of [...runningTurns.keys()]) turn.releaseWaiting();
    },
    get isLettingGo() {
      return lettingGo;
    },
    drain() {
      draining = true;
      queue.refuse();
      for (const turn of [...runningTurns.keys()]) turn.abort("Draining");
    },
    get isIdle() {
      return activity.count === 0;
    },
    idle: activity.idle,
    limit: places.limit,
    close() {
      closed = true;
      places.close();
    },
    get isClosed() {
      return closed;
    },
  };
}

const retryAfterMs = 1000;

function overOwner(limit: number): A2AError {
  return new A2AError("resourceExhausted", `too many turns of this caller: the limit is ${limit} (turnsPerOwner)`, {
    retryAfterMs,
    metadata: { limit: "turnsPerOwner" },
  });
}

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
