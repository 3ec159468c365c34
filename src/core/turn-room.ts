import type { CoreLimits } from "./limits.js";
import { type ProcessLoad, TurnShares } from "./process-load.js";

/** Room for the turns of a process, which all its agents share. */
export interface TurnRoom {
  /** Limit of turns (`turnsPerProcess`). */
  readonly max: number;
  readonly isFull: boolean;
  /** Takes the room of one turn; the returned function releases it. */
  take(): () => void;
  /** `freed` is called when a full room has room again, agents one after another. The returned function ends that. */
  join(freed: () => void): () => void;
  /** The shares of owners in the running turns. */
  readonly shares: TurnShares;
}

/** Creates the room for turns of one process. */
export function createTurnRoom(
  { turnsPerProcess: max }: Pick<CoreLimits, "turnsPerProcess">,
  load?: ProcessLoad,
): TurnRoom {
  const joined = new Set<() => void>();
  let taken = 0;
  const release = (): void => {
    taken -= 1;
    if (taken !== max - 1) return;
    const [first] = joined;
    if (first === undefined) return;
    // Another agent comes first the next time.
    joined.delete(first);
    joined.add(first);
    for (const freed of [first, ...joined]) {
      if (taken >= max) return;
      freed();
    }
  };
  return {
    max,
    get isFull() {
      return taken >= max;
    },
    take() {
      taken += 1;
      return release;
    },
    join(freed) {
      joined.add(freed);
      return () => joined.delete(freed);
    },
    shares: new TurnShares(load),
  };
}
