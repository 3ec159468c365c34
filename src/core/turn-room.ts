import { createPlaces, type Place, type Places } from "../protocol/async/places.js";
import type { CoreLimits } from "./limits.js";
import { type ProcessLoad, TurnShares, type WeighedTurn } from "./process-load.js";
import type { RunningMemory } from "./running-memory.js";

/** Room for the turns of a process, which all its agents share. */
export interface TurnRoom {
  /** Limit of turns (`turnsPerProcess`). */
  readonly max: number;
  readonly isFull: boolean;
  /** Places that turns take besides, for limits of callers. */
  readonly places: Pick<Places, "refusal">;
  /** Takes the room of one turn, and its places. */
  take(places: readonly Place[]): void;
  /** Gives them back. */
  leave(places: readonly Place[]): void;
  /** Adds the turns of an agent. The returned function ends that. */
  join(agent: RoomAgent): () => void;
  /** The shares of owners in the running turns. */
  readonly shares: TurnShares;
  /** The memory of the turns' tasks. */
  readonly memory: RunningMemory;
}

/** An agent whose turns take room. */
interface RoomAgent {
  /** Its turns at the moment. */
  readonly turns: Iterable<WeighedTurn>;
  /** Called when a full room has room again, or places are given back, agents one after another. */
  onRoom(): void;
}

/** Creates the room for turns of one process. */
export function createTurnRoom(
  { turnsPerProcess: max }: Pick<CoreLimits, "turnsPerProcess">,
  memory: RunningMemory,
  load?: ProcessLoad,
): TurnRoom {
  const agents = new Set<RoomAgent>();
  const heldPlaces = createPlaces();
  let count = 0;
  function* running(): Generator<WeighedTurn> {
    for (const agent of agents) yield* agent.turns;
  }
  return {
    max,
    memory,
    get isFull() {
      return count >= max;
    },
    places: heldPlaces,
    take(places) {
      heldPlaces.take(places);
      count += 1;
    },
    leave(places) {
      heldPlaces.leave(places);
      count -= 1;
      if (count !== max - 1 && places.length === 0) return;
      const [first] = agents;
      if (first === undefined) return;
      // Another agent comes first the next time.
      agents.delete(first);
      agents.add(first);
      for (const agent of [first, ...agents]) {
        if (count >= max) return;
        agent.onRoom();
      }
    },
    join(agent) {
      agents.add(agent);
      return () => agents.delete(agent);
    },
    shares: new TurnShares(load, { [Symbol.iterator]: running }),
  };
}
