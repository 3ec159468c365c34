import type { Agent, Turn } from "../../../src/core/agent.js";
import type { AgentEvent } from "../../../src/protocol/events.js";
import type { Process } from "./process.js";
import { createRandom } from "./random.js";
import { script, waitFor } from "./script.js";
import type { World } from "./world.js";

/** An agent that plays a script in each turn, seeded by the message's text. */
export function scriptedAgent(process: Process, world: World): Agent {
  const { journal, running, turns } = world;
  const play = async function* (turn: Turn): AsyncGenerator<AgentEvent, AgentEvent | undefined> {
    const { taskId } = turn;
    // A turn may start only when the process of the previous one could be presumed dead.
    const all = running.get(taskId) ?? [];
    const others = all.filter((other) => !(mayBeGone(other, world) || isGone(other)));
    turns.set(taskId, (turns.get(taskId) ?? 0) + 1);
    if (others.length > 0) journal.fail(`${taskId}: a turn in ${process.name} while one runs in ${others[0]?.name}`);
    running.set(taskId, [...all, process]);
    world.seats.set(turn, process);
    if (turn.cause === "message") world.agentStarts(turn.message.messageId, process);
    try {
      return yield* script(turn, process, world);
    } finally {
      const now = running.get(taskId) ?? [];
      const rest = now.toSpliced(now.indexOf(process), 1);
      if (rest.length === 0) running.delete(taskId);
      else running.set(taskId, rest);
    }
  };
  return (turn) => {
    const manner = createRandom(Number(turn.text)).pick(["generator", "generator", "awaits", "does not wait"]);
    if (manner === "generator") return play(turn);
    return emitAll(turn, play(turn), manner === "awaits" ? world : undefined);
  };
}

// A store that fails for long takes tasks from a live process.
const mayBeGone = ({ missed }: Process, { weather }: World): boolean => missed || weather.failing > 0;

const isGone = ({ state, leaving }: Process): boolean => state === "dead" || leaving;

// The same as a plain function that calls `emit`, with or without awaiting it.
async function emitAll(
  turn: Turn,
  events: AsyncGenerator<AgentEvent, AgentEvent | undefined>,
  waitingIn: World | undefined,
): Promise<AgentEvent | undefined> {
  try {
    for (;;) {
      const step = await events.next();
      if (step.done === true) return step.value;
      const accepted = turn.emit(step.value);
      if (waitingIn !== undefined) await waitFor(waitingIn, turn, accepted);
    }
  } finally {
    await events.return(undefined);
  }
}
