import { isTerminal, stateName } from "../../protocol/states.js";
import type { TurnOutcome } from "../../protocol/telemetry/follow.js";
import type { LiveTask } from "../task/live-task.js";
import type { TurnState } from "./phase.js";

/** How a turn ended, for telemetry. `failed`: its agent has thrown. */
export function outcomeOf(
  { abortReason, output }: TurnState,
  live: LiveTask | undefined,
  failed: boolean,
): TurnOutcome {
  if (live === undefined) return output.name === "answered" ? "replied" : "refused";
  if (live.failure !== undefined) return abortReason?.kind === "Draining" ? "released" : "lost";
  if (isTerminal(live.state)) return stateName(live.state);
  if (failed && output.name === "silent") return "refused";
  return output.name === "parked" ? "parked" : stateName(live.state);
}
