import { type ServeOptions, type Server, serve } from "trivium";
import { textAnalyst } from "./agent.js";
import { analystCard } from "./card.js";

export { greeting } from "./greeting.js";

export interface DemoOptions extends Omit<ServeOptions, "agent" | "card" | "restartable"> {
  /** Version on the agent's card. */
  readonly version: string;
}

/** Serves the text analyst, the agent behind `trivium demo`. */
export function serveDemo({ version, ...options }: DemoOptions): Promise<Server> {
  // The agent only reads its input, so it is safe to run again.
  return serve({ ...options, card: analystCard(version), agent: textAnalyst, restartable: true });
}
