import type { Clock, Hint, Signals } from "../../../src/core/ports.js";
import type { Process } from "./process.js";
import type { Random } from "./random.js";
import type { Weather } from "./weather.js";

interface Listener {
  readonly process: Process;
  hear(hint: Hint): void;
}

/** Carries hints between processes; some are lost, duplicated, late or reordered. */
export function createBus(
  time: Clock,
  random: Random,
  weather: Weather,
): { of(process: Process): Signals; calm(): void } {
  const listeners = new Set<Listener>();
  let { hintsLost, hintsDoubled, hintMs } = weather;

  const carry = (to: Listener, hint: Hint): void => {
    if (random.chance(hintsLost)) return;
    const deliver = (): void => {
      if (to.process.state === "up") to.hear(hint);
    };
    if (hintMs === 0 && random.chance(0.5)) deliver();
    else time.after(random.int(0, hintMs), deliver);
  };

  return {
    of: (process) => ({
      publish(hint) {
        if (process.state === "dead") return;
        for (const listener of listeners) {
          carry(listener, hint);
          if (random.chance(hintsDoubled)) carry(listener, hint);
        }
      },
      subscribe(hear) {
        const listener = { process, hear };
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    }),
    calm() {
      hintsLost = 0;
      hintsDoubled = 0;
      hintMs = 0;
    },
  };
}
