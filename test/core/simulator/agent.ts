import type { Agent, Turn } from "../../../src/core/agent.js";
import type { Clock } from "../../../src/core/ports.js";
import { A2AError } from "../../../src/protocol/errors.js";
import {
  type AgentEvent,
  artifact,
  authRequired,
  completed,
  failed,
  inputRequired,
  rejected,
  reply,
  working,
} from "../../../src/protocol/events.js";
import type { Process } from "./process.js";
import { createRandom, type Random } from "./random.js";
import type { World } from "./world.js";

/** The error of an agent that refuses a message before it has said anything. */
export const refusal = "the agent does not take this";

interface Stage {
  readonly turn: Turn;
  readonly random: Random;
  readonly clock: Clock;
  readonly receive: () => Promise<void>;
  /** Does not look at its signal. */
  readonly deaf: boolean;
}

/** An agent whose every turn plays a script of its own: the text of the message is the seed of it. */
export function scriptedAgent(process: Process, world: Pick<World, "journal" | "running" | "receiving">): Agent {
  const { journal, running } = world;
  const play = async function* (turn: Turn): AsyncGenerator<AgentEvent, AgentEvent | undefined> {
    const { taskId } = turn;
    const others = running.get(taskId) ?? [];
    if (others.length > 0) journal.fail(`${taskId}: a turn in ${process.name} while one runs in ${others[0]?.name}`);
    running.set(taskId, [...others, process]);
    try {
      return yield* script(turn, process.agentClock, world.receiving);
    } finally {
      running.delete(taskId);
    }
  };
  return (turn) => {
    const manner = createRandom(Number(turn.text)).pick(["generator", "generator", "awaits", "does not wait"]);
    if (manner === "generator") return play(turn);
    return emitAll(turn, play(turn), manner === "awaits");
  };
}

// The same as a plain function that calls `emit`, with or without waiting for it.
async function emitAll(
  turn: Turn,
  events: AsyncGenerator<AgentEvent, AgentEvent | undefined>,
  waits: boolean,
): Promise<AgentEvent | undefined> {
  try {
    for (;;) {
      const step = await events.next();
      if (step.done === true) return step.value;
      const accepted = turn.emit(step.value);
      if (waits) await accepted;
    }
  } finally {
    await events.return(undefined);
  }
}

async function* script(
  turn: Turn,
  clock: Clock,
  receiving: Set<string>,
): AsyncGenerator<AgentEvent, AgentEvent | undefined> {
  const random = createRandom(Number(turn.text) + 1);
  const receive = async (): Promise<void> => {
    receiving.add(turn.taskId);
    await turn.receive().finally(() => receiving.delete(turn.taskId));
  };
  const stage: Stage = { turn, random, clock, receive, deaf: random.chance(0.2) };
  if (random.chance(0.05)) throw new A2AError("contentTypeNotSupported", refusal);
  if (random.chance(0.1)) await sleep(stage, random.int(1, 600));
  const steps = random.pick([0, 1, 3, 6, 12]);
  try {
    for (let step = 0; step < steps; step++) yield* oneStep(stage, step);
  } catch (error) {
    if (!turn.signal.aborted || random.chance(0.5)) throw error;
    // Unwinds with some last words.
    yield artifact("late", { artifactId: "last" });
    if (random.chance(0.3)) await sleep({ ...stage, deaf: true }, random.int(1, 1500));
    if (random.chance(0.5)) yield failed("gave up");
  }
  return ending(stage);
}

type Step = (stage: Stage, step: number) => AsyncGenerator<AgentEvent, void>;

const chunk: Step = async function* ({ random }, step) {
  const artifactId = random.pick(["a", "b"]);
  yield artifact(`${step};`, { artifactId, append: random.chance(0.8), lastChunk: random.chance(0.2) });
};

const burst: Step = async function* ({ random }, step) {
  const chunks = random.int(2, 90);
  for (let index = 0; index < chunks; index++)
    yield artifact(`${step}.${index};`, { artifactId: "c", append: index > 0 });
};

const pause: Step = async function* (stage) {
  await sleep(stage, stage.random.pick([1, 10, 200, 1500]));
};

const ask: Step = async function* ({ turn, random, receive }) {
  const question = random.chance(0.7) ? inputRequired("which?") : authRequired("who?");
  if (random.chance(0.5)) await turn.ask(question);
  else {
    yield question;
    await receive();
  }
};

const steps: readonly [Step, ...Step[]] = [
  chunk,
  chunk,
  chunk,
  burst,
  pause,
  pause,
  ask,
  async function* ({ random }) {
    yield random.chance(0.5) ? working() : working("on it");
  },
  async function* ({ turn }) {
    await turn.flush();
  },
  async function* ({ random, receive }) {
    if (random.chance(0.3)) await receive();
  },
  async function* ({ random, receive }) {
    if (!random.chance(0.2)) return;
    const received = receive();
    received.catch(() => {});
    yield working("meanwhile");
    await received;
  },
];

async function* oneStep(stage: Stage, step: number): AsyncGenerator<AgentEvent, void> {
  yield* stage.random.pick(steps)(stage, step);
}

async function ending(stage: Stage): Promise<AgentEvent | undefined> {
  const { random, receive } = stage;
  const kind = random.int(0, 12);
  if (kind <= 1) return completed();
  if (kind === 2) return failed("could not");
  if (kind === 3) return rejected("will not");
  if (kind <= 5) return reply("that is all");
  if (kind <= 8) return random.chance(0.7) ? inputRequired("more?") : authRequired("who?");
  if (kind === 9) throw new Error("secret");
  if (kind === 10) await sleep({ ...stage, deaf: true }, 3_600_000);
  if (kind === 11) await receive();
  return undefined;
}

async function sleep({ clock, turn, deaf }: Stage, ms: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const cancel = clock.after(ms, resolve);
    if (deaf) return;
    turn.signal.addEventListener("abort", () => {
      cancel();
      reject(turn.signal.reason);
    });
    if (turn.signal.aborted) {
      cancel();
      reject(turn.signal.reason);
    }
  });
}
