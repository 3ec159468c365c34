import type { AgentFigures } from "../protocol/telemetry/follow.js";
import type { Runtime } from "./runtime.js";

/** Counts what a handler has at the moment. */
export function figuresOf({ turns, watch, live }: Pick<Runtime, "turns" | "watch" | "live">): AgentFigures {
  const inboxes = [...turns.running.keys()].map(({ inbox }) => inbox);
  const waiting = inboxes.filter(({ isWaiting }) => isWaiting).length;
  let streamLag = 0;
  for (const { taskId, position } of watch.watchers) {
    const stored = live.get(taskId)?.stored ?? 0;
    if (position !== undefined) streamLag = Math.max(streamLag, stored - position);
  }
  const inbox = inboxes.reduce((sum, { messages }) => sum + messages, 0);
  return { running: inboxes.length - waiting, queued: turns.queued, waiting, inbox, streamLag };
}
