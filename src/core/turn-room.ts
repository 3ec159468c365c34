import { createPlaces, type Place, type Places } from "../protocol/async/places.js";
import type { CoreLimits } from "./limits.js";
import { type ProcessLoad, TurnShares, type WeighedTurn } from "./process-load.js";

/** Room for the turns of a process, which all its agents share. */
export interface TurnRoom {
  /** Limit of turns (`turnsPerProcess`). */
  readonly max: number;
  readonly isFull: boolean;
  /** Places that turns take besides, for limits by who is asking. */
  readonly places: Pick<Places, "refusal">;
  /** Takes the room of one turn, and its places. */
  take(places: readonly Place[]): void;
  /** Gives them back. */
  leave(places: readonly Place[]): void;
  /** Adds the turns of an agent. The returned function ends that. */
  join(agent: RoomAgent): () => void;
  /** The shares of owners in the running turns. */
  readonly shares: TurnShares;
}

/** An agent whose turns take room. */
interface RoomAgent {
  /** Its turns at the moment. */
  readonly running: Iterable<WeighedTurn>;
  /** Called when a full room has room again, or places are given back, agents one after another. */
  freed(): void;
}

/** Creates the room for turns of one process. */
export function createTurnRoom(
  { turnsPerProcess: max }: Pick<CoreLimits, "turnsPerProcess">,
  load?: ProcessLoad,
): TurnRoom {
  const joined = new Set<RoomAgent>();
  const held = createPlaces();
  let taken = 0;
  function* running(): Generator<WeighedTurn> {
    for (const agent of joined) yield* agent.running;
  }
  return {
    max,
    get isFull() {
      return taken >= max;
    },
    places: held,
    take(places) {
      held.take(places);
      taken += 1;
    },
    leave(places) {
      held.leave(places);
      taken -= 1;
      if (taken !== max - 1 && places.length === 0) return;
      const [first] = joined;
      if (first === undefined) return;
      // Another agent comes first the next time.
      joined.delete(first);
      joined.add(first);
      for (const agent of [first, ...joined]) {
        if (taken >= max) return;
        agent.freed();
      }
    },
    join(agent) {
      joined.add(agent);
      return () => joined.delete(agent);
    },
    shares: new TurnShares(load, { [Symbol.iterator]: running }),
  };
}
